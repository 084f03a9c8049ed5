// ND194: the same product with a constant in fp32 and in bf16 differs by what bf16 predicts. The near miss
// differs by more: it cuts.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 20, columns = 30;
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  const array x(dtype::bf16, {rows, columns}, normal(rows * columns, 61));
  numdiff::cast_rule rule;
  if (v == version::near_miss) rule.round = numdiff::rounding::toward_zero;
  const array y = mapped(
      t, {rows, columns}, [&](std::size_t i) { return 1.7 * x[i]; }, rule);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "temper", scale, numdiff::dtypes(dtype::bf16, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_SCALAR(op, "factor", 1.7);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd194("ND194", run, {.near_miss = "ND401", .found_in = "findings"});

}  // namespace
