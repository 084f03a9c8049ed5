// ND907: one of many squares is negative, which none can be. The near miss holds a square that is merely too
// large: an error, and not an impossible one.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 24, columns = 36;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 11, 2.0, 0.5));
  array y = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) { return x[i] * x[i]; });
  if (v == version::test) y.set(500, -y[500]);
  if (v == version::near_miss) y.set(500, 3 * y[500]);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "energy", square, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd907("ND907", run, {"ND903"});

}  // namespace
