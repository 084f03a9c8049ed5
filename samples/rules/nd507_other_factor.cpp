// ND507: a residual branch is scaled by another factor than in the reference. In the near miss it is the
// gradient's scale that differs, which its loss scale makes up for and the context tells.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void scaled(const char* name, const array& x, double factor, numdiff::phase when) {
  const array y = mapped(dtype::f32, {29, 31}, [&](std::size_t i) { return x[i] * factor; });
  NUMDIFF_OP(op, name, scale, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  if (when == numdiff::phase::backward) {
    NUMDIFF_INPUT(op, "g", x.seen().carries_factors());
  } else {
    NUMDIFF_INPUT(op, "x", x.seen());
  }
  NUMDIFF_SCALAR(op, "factor", factor);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 29, columns = 31;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 221));
  const double loss_scale = v == version::near_miss ? 4096 : 1024;
  const array g = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) { return x[i] * loss_scale; });
  NUMDIFF_STEP(0);
  {
    NUMDIFF_PHASE(forward);
    scaled("branch.scale", x, v == version::test ? 0.3 : 0.25, numdiff::phase::forward);
  }
  NUMDIFF_PHASE(backward);
  NUMDIFF_FACTOR("loss_scale", loss_scale);
  scaled("unscale", g, 1 / loss_scale, numdiff::phase::backward);
}

const reproduction nd507("ND507", run);

}  // namespace
