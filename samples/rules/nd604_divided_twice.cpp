// ND604: an average over three ranks is divided by their number twice. In the near miss it is multiplied by
// 1/3 as bf16 holds it, a common factor of its rounding.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int32_t ranks = 3;
constexpr std::int64_t n = 230;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", ranks, rank);
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  std::vector<array> share;
  for (std::uint64_t r = 0; r < ranks; ++r)
    share.emplace_back(t, std::vector<std::int64_t>{n}, normal(n, 51 + r, 0.02));
  const double third = v == version::near_miss ? rounded(t, 1.0 / ranks) : 1.0 / ranks;
  const array mean = mapped(t, {n}, [&](std::size_t i) {
    double sum = 0;
    for (const array& x : share) sum = rounded(t, sum + x[i]);
    return sum * third * (v == version::test ? third : 1);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "gradients.mean", all_reduce, numdiff::dtypes(t, t, t));
  NUMDIFF_COLLECTIVE(
      op, numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::average)
              .communicator("dp")
              .size(ranks)
              .ranks({0, 1, 2})
              .count(n)
              .wire(t));
  NUMDIFF_INPUT(op, "g",
                share[static_cast<std::size_t>(rank)].seen().partial("dp", numdiff::reduction::average));
  NUMDIFF_OUTPUT(op, "mean", mean.seen().replicated("dp"));
}

const reproduction nd604("ND604", run, {.ranks = ranks});

}  // namespace
