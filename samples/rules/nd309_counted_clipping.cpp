// ND309: an op of a kind that numdiff cannot replay casts with a scale that is far too small; the counts
// taken before the cast tell. The near miss cuts off a little.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 10, columns = 22;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 103, 5));
  double amax = 0;
  for (std::size_t i = 0; i < x.size(); ++i) amax = std::max(amax, std::abs(x[i]));
  const double part = v == version::test ? 3 : v == version::near_miss ? 1.05 : 1;
  const float scale = static_cast<float>(amax / part / 448);
  const array y = mapped(dtype::f8e4m3fn, {rows, columns},
                         [&](std::size_t i) { return x[i] / static_cast<double>(scale); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "paged.append", append_to_pages, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_tensor(&scale)));
}

const reproduction nd309("ND309", run);

}  // namespace
