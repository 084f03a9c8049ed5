// ND612: three ranks add up a gradient, and one of them tells the library of fewer elements than it has. In
// the near miss all sum alike, round a tree instead of a ring.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t count = 320, fewer = 300;
constexpr std::int32_t ranks = 3;

void run(version v, numdiff::session& s, std::int32_t rank) {
  s.mesh("dp", ranks, rank);
  const array all[ranks] = {{dtype::f32, {count}, normal(count, 51)},
                            {dtype::f32, {count}, normal(count, 52)},
                            {dtype::f32, {count}, normal(count, 53)}};
  const array sum =
      mapped(dtype::f32, {count}, [&](std::size_t i) { return all[0][i] + all[1][i] + all[2][i]; });
  const bool short_here = v == version::test && rank == 1;
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "grads.reduce", all_reduce,
             numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).order(numdiff::reduction_order::ring));
  NUMDIFF_COLLECTIVE(op,
                     numdiff::collective(numdiff::collective_operation::all_reduce, numdiff::reduction::sum)
                         .communicator("dp")
                         .sequence(1)
                         .size(ranks)
                         .ranks({0, 1, 2})
                         .count(short_here ? fewer : count)
                         .algorithm(v == version::near_miss ? "tree" : "ring")
                         .wire(dtype::f32));
  NUMDIFF_INPUT(op, "g", all[rank].seen().partial("dp", numdiff::reduction::sum));
  NUMDIFF_GRADIENT(op, "sum", sum.seen().replicated("dp"));
}

const reproduction nd612("ND612", run, {.ranks = ranks});

}  // namespace
