// ND609: fp16 tensors are summed over five ranks on an E5M2 wire, whose range the sum leaves. In the near
// miss the wire is bf16, with fewer bits than the tensors and range enough.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int32_t ranks = 5;
constexpr std::int64_t n = 150;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("tp", ranks, rank);
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  const dtype wire = v == version::test ? dtype::f8e5m2 : v == version::near_miss ? dtype::bf16 : dtype::f32;
  std::vector<array> share;
  for (std::uint64_t r = 0; r < ranks; ++r)
    share.push_back(mapped(t, {n}, [&, x = normal(n, 21 + r, 40, 300)](std::size_t i) {
      return i % 40 == 7 ? 12300 + x[i] : x[i];  // a channel of outliers
    }));
  numdiff::cast_rule nosat;
  nosat.past = numdiff::overflow::to_infinity;
  const array sum = mapped(
      t, {n},
      [&](std::size_t i) {
        double total = 0;
        for (const array& x : share) total = rounded(wire, total + rounded(wire, x[i], nosat), nosat);
        return total;
      },
      nosat);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "mlp.reduce", all_reduce, numdiff::dtypes(t, wire, t));
  NUMDIFF_COLLECTIVE(op,
                     numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                         .communicator("tp")
                         .size(ranks)
                         .ranks({0, 1, 2, 3, 4})
                         .count(n)
                         .wire(wire));
  NUMDIFF_INPUT(op, "x", share[static_cast<std::size_t>(rank)].seen().partial("tp", numdiff::reduction::sum));
  NUMDIFF_OUTPUT(op, "y", sum.seen().replicated("tp"));
}

const reproduction nd609("ND609", run, {.ranks = ranks});

}  // namespace
