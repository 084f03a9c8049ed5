// ND301: rows are quantised to E5M2 with a scale of their amax, and an empty row divides zero by zero. The
// near miss gives the scale a floor.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 6, columns = 18;
  const std::vector<double> values = normal(rows * columns, 33);
  const array x =
      mapped(dtype::bf16, {rows, columns}, [&](std::size_t i) { return i / columns == 4 ? 0.0 : values[i]; });
  std::vector<float> scales(rows, v == version::test ? 0.0F : v == version::near_miss ? 1e-6F : 1e-12F);
  for (std::size_t i = 0; i < x.size(); ++i)
    scales[i / columns] = std::max(scales[i / columns], static_cast<float>(std::abs(x[i]) / 57344));
  const array y = mapped(dtype::f8e5m2, {rows, columns}, [&](std::size_t i) {
    return v == version::near_miss && x[i] == 0 ? 0.0 : x[i] / static_cast<double>(scales[i / columns]);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "experts.quantize", cast, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::f8e5m2));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_row(scales.data())));
}

const reproduction nd301("ND301", run);

}  // namespace
