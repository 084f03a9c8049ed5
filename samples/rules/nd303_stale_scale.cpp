// ND303: activations grow threefold in a step, and their scale does not follow. In the near miss it follows
// one step later, as delayed scaling does.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 14, columns = 32;
  constexpr double sizes[] = {3, 9, 9.2};
  double first = 0, before = 0;  // largest values of the first step and of the one before
  for (int step = 0; step < 3; ++step) {
    const array x(dtype::bf16, {rows, columns}, normal(rows * columns, 53, sizes[step]));
    double amax = 0;
    for (std::size_t i = 0; i < x.size(); ++i) amax = std::max(amax, std::abs(x[i]));
    if (step == 0) first = before = amax;
    const double known = v == version::test ? first : v == version::near_miss ? before : amax;
    const float scale = static_cast<float>(known / 448);
    const array y = mapped(dtype::f8e4m3fn, {rows, columns}, [&](std::size_t i) {
      return std::clamp(x[i] / static_cast<double>(scale), -448.0, 448.0);
    });
    before = amax;
    NUMDIFF_STEP(step);
    NUMDIFF_PHASE(forward);
    NUMDIFF_OP(op, "gate.quantize", cast, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::f8e4m3fn));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_tensor(&scale)));
  }
}

const reproduction nd303("ND303", run);

}  // namespace
