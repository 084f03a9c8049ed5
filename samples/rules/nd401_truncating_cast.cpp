// ND401: a product with a constant is cut to fp16 instead of being rounded. The near miss rounds to nearest,
// but with ties away from zero: other bits now and then, and no bias.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 48, columns = 20;
  const array x(dtype::f16, {rows, columns}, normal(rows * columns, 7, 3.0));
  const double factor = 0.375;
  numdiff::cast_rule rule;
  if (v == version::test) rule.round = numdiff::rounding::toward_zero;
  const array y = mapped(
      dtype::f16, {rows, columns},
      [&](std::size_t i) {
        // Past a tie by less than anything that fp16 can tell.
        const double exact = factor * x[i];
        return v == version::near_miss ? std::nextafter(exact, 2 * exact) : exact;
      },
      rule);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "rescale", scale, numdiff::dtypes(dtype::f16, dtype::f32, dtype::f16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_SCALAR(op, "factor", factor);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd401("ND401", run);

}  // namespace
