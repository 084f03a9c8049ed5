// ND412: what is too large for E4M3 becomes its maximum in one run and NaN in the other. The near miss keeps
// to the maximum, and cuts what it stores.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 25, columns = 36;
  array x(dtype::bf16, {rows, columns}, normal(rows * columns, 131, 60));
  for (std::size_t row = 0; row < rows; row += 4) x.set(row * columns + row, row % 8 == 0 ? 480 : -500);
  numdiff::cast_rule rule;
  rule.past = v == version::test ? numdiff::overflow::to_infinity : numdiff::overflow::to_maximum;
  if (v == version::near_miss) rule.round = numdiff::rounding::toward_zero;
  const array y = x.as(dtype::f8e4m3fn, rule);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "cache.store", cast, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd412("ND412", run, {.near_miss = "ND401"});

}  // namespace
