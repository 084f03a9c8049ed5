// ND602: gradients are summed over pairs of ranks, and then over all four: every share counts twice. In the
// near miss the second sum runs over the other pairs, in bf16 as well.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t n = 180;

void run(version v, numdiff::session& s, std::int32_t rank) {
  using numdiff::collective, numdiff::collective_operation, numdiff::reduction;
  s.mesh("tp", 2, rank % 2);
  s.mesh("dp", 2, rank / 2);
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  std::vector<array> share;
  for (std::uint64_t r = 0; r < 4; ++r)
    share.emplace_back(t, std::vector<std::int64_t>{n}, normal(n, 31 + r));
  const auto plus = [&](const array& a, const array& b) {
    return mapped(t, {n}, [&](std::size_t i) { return a[i] + b[i]; });
  };
  const array low = plus(share[0], share[1]), high = plus(share[2], share[3]);
  const array& pair = rank < 2 ? low : high;
  array sum = plus(low, high);
  if (v == version::test) sum = plus(sum, sum);

  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  {
    NUMDIFF_OP(op, "reduce.tp", all_reduce, numdiff::dtypes(t, t, t));
    const collective told =
        collective(collective_operation::all_reduce, reduction::sum).communicator("tp").size(2);
    NUMDIFF_COLLECTIVE(op, (rank < 2 ? told.ranks({0, 1}) : told.ranks({2, 3})).count(n).wire(t));
    NUMDIFF_INPUT(op, "g",
                  share[static_cast<std::size_t>(rank)]
                      .seen()
                      .partial("tp", reduction::sum)
                      .partial("dp", reduction::sum));
    NUMDIFF_OUTPUT(op, "sum", pair.seen().replicated("tp").partial("dp", reduction::sum));
  }
  NUMDIFF_OP(op, "reduce.dp", all_reduce, numdiff::dtypes(t, t, t));
  const collective told = collective(collective_operation::all_reduce, reduction::sum).count(n).wire(t);
  if (v == version::test)
    NUMDIFF_COLLECTIVE(op, told.communicator("world").size(4).ranks({0, 1, 2, 3}));
  else
    NUMDIFF_COLLECTIVE(op,
                       (rank % 2 == 0 ? told.ranks({0, 2}) : told.ranks({1, 3})).communicator("dp").size(2));
  NUMDIFF_INPUT(op, "g", pair.seen().replicated("tp").partial("dp", reduction::sum));
  NUMDIFF_OUTPUT(op, "sum", sum.seen().replicated("tp").replicated("dp"));
}

const reproduction nd602("ND602", run, {.ranks = 4});

}  // namespace
