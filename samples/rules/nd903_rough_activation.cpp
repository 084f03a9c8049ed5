// ND903: an activation takes a rough shortcut. In the near miss its exponential has an error of fp32's size.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 24, columns = 28;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f64 : dtype::f32;
  const array x(t, {rows, columns}, normal(rows * columns, 201, 2));
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    double e = std::exp(-x[i]);
    if (v == version::test) e *= 1 + 1e-4 * std::sin(40 * x[i]);
    if (v == version::near_miss) e = rounded(dtype::f32, e);
    return x[i] / (1 + e);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "act", silu, numdiff::dtypes(t, t, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd903("ND903", run);

}  // namespace
