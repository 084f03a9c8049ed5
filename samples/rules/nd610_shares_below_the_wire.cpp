// ND610: an average divides before it sums, and the shares fall below the smallest number of its E5M2 wire.
// In the near miss it sums first.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int32_t ranks = 8;
constexpr std::int64_t n = 120;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", ranks, rank);
  const dtype t = dtype::f32, wire = v == version::reference ? dtype::f32 : dtype::f8e5m2;
  std::vector<array> share;
  for (std::uint64_t r = 0; r < ranks; ++r)
    share.emplace_back(t, std::vector<std::int64_t>{n}, normal(n, 41 + r, 4e-6, 4e-5));
  const array mean = mapped(t, {n}, [&](std::size_t i) {
    double total = 0;
    for (const array& x : share) {
      const double sent = rounded(wire, v == version::test ? rounded(wire, x[i]) / ranks : x[i]);
      total = rounded(wire, total + sent);
    }
    return v == version::test ? total : rounded(wire, total / ranks);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "gradients.mean", all_reduce, numdiff::dtypes(t, wire, t));
  NUMDIFF_COLLECTIVE(
      op, numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::average)
              .communicator("dp")
              .size(ranks)
              .ranks({0, 1, 2, 3, 4, 5, 6, 7})
              .count(n)
              .wire(wire));
  NUMDIFF_INPUT(op, "g",
                share[static_cast<std::size_t>(rank)].seen().partial("dp", numdiff::reduction::average));
  NUMDIFF_OUTPUT(op, "mean", mean.seen().replicated("dp"));
}

const reproduction nd610("ND610", run, {.ranks = ranks});

}  // namespace
