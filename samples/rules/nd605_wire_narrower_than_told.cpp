// ND605: a reduce-scatter of fp32 gradients travels as bf16, and its record says fp32. In the near miss the
// record says bf16, and the error is what that wire makes.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int32_t ranks = 3;
constexpr std::size_t slice = 64, n = ranks * slice;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", ranks, rank);
  const dtype travels = v == version::reference ? dtype::f32 : dtype::bf16;
  const dtype told = v == version::test ? dtype::f32 : travels;
  std::vector<array> share;
  for (std::uint64_t r = 0; r < ranks; ++r)
    share.emplace_back(dtype::f32, std::vector<std::int64_t>{n}, normal(n, 71 + r));
  const std::size_t first = static_cast<std::size_t>(rank) * slice;
  const array part = mapped(dtype::f32, {slice}, [&](std::size_t i) {
    double sum = 0;
    for (const array& x : share) sum = rounded(travels, sum + rounded(travels, x[first + i]));
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "gradients.scatter", reduce_scatter, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_COLLECTIVE(
      op, numdiff::collective(numdiff::collective_operation::reduce_scatter, numdiff::reduction::sum)
              .communicator("dp")
              .size(ranks)
              .ranks({0, 1, 2})
              .count(n)
              .wire(told));
  NUMDIFF_INPUT(op, "g", share[static_cast<std::size_t>(rank)].seen().partial("dp", numdiff::reduction::sum));
  NUMDIFF_OUTPUT(op, "part", part.seen().shard("dp", 0));
}

const reproduction nd605("ND605", run, {.ranks = ranks});

}  // namespace
