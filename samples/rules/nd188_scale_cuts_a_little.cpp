// ND188: a scale that follows the amax of the step before cuts a few values off: information is lost, and no
// more than such a recipe does. The near miss has a scale that reaches all values.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 16, columns = 24;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 31, 0.7));
  double amax = 0;
  for (std::size_t i = 0; i < x.size(); ++i) amax = std::max(amax, std::abs(x[i]));
  const double part = v == version::test ? 0.9 : v == version::near_miss ? 1.3 : 1;
  const float scale = static_cast<float>(part * amax / 448);
  const array y = mapped(dtype::f8e4m3fn, {rows, columns},
                         [&](std::size_t i) { return x[i] / static_cast<double>(scale); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "act.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_tensor(&scale)));
}

const reproduction nd188("ND188", run, {.found_in = "information_lost"});

}  // namespace
