// ND601: after a reduce-scatter in fp16 every rank holds its slice of its own gradient: nothing was summed.
// In the near miss a rank has a gradient in its own slice only, so that its sum is what it brought.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int32_t ranks = 3;
constexpr std::size_t slice = 70, n = ranks * slice;

double gradient(version v, std::size_t rank, std::size_t i) {
  static const std::vector<double> all = normal(ranks * n, 11, 0.5);
  const bool sparse = v == version::near_miss || v == version::near_miss_reference;
  return sparse && i / slice != rank ? 0 : all[rank * n + i];
}

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", ranks, rank);
  const dtype t = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const auto own = static_cast<std::size_t>(rank);
  const array mine = mapped(t, {n}, [&](std::size_t i) { return gradient(v, own, i); });
  const array part = mapped(t, {slice}, [&](std::size_t i) {
    if (v == version::test) return mine[own * slice + i];
    double sum = 0;
    for (std::size_t r = 0; r < ranks; ++r)
      sum = rounded(t, sum + rounded(t, gradient(v, r, own * slice + i)));
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "gradients.scatter", reduce_scatter, numdiff::dtypes(t, t, t));
  NUMDIFF_COLLECTIVE(
      op, numdiff::collective(numdiff::collective_operation::reduce_scatter, numdiff::reduction::sum)
              .communicator("dp")
              .size(ranks)
              .ranks({0, 1, 2})
              .count(n)
              .wire(t));
  NUMDIFF_INPUT(op, "g", mine.seen().partial("dp", numdiff::reduction::sum));
  NUMDIFF_OUTPUT(op, "part", part.seen().shard("dp", 0));
}

const reproduction nd601("ND601", run, {.ranks = ranks, .own_reference = true});

}  // namespace
