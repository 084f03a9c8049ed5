// ND906: an infinity appears between two ops, where nobody captured what made it. In the near miss the step
// between them does no harm.
#include <cmath>
#include <limits>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 16, columns = 21;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  const array x(t, {rows, columns}, normal(rows * columns, 231, 3));
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) { return x[i] / (1 + std::exp(-x[i])); });
  array between = mapped(t, {rows, columns}, [&](std::size_t i) { return std::cos(y[i]); });  // not captured
  if (v == version::test) between.set(100, std::numeric_limits<double>::infinity());
  const array z = mapped(t, {rows, columns}, [&](std::size_t i) { return 2 * between[i]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  {
    NUMDIFF_OP(op, "act", silu, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_OUTPUT(op, "y", y.seen());
  }
  NUMDIFF_OP(op, "double", own_kind, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", between.seen());
  NUMDIFF_OUTPUT(op, "y", z.seen());
}

const reproduction nd906("ND906", run);

}  // namespace
