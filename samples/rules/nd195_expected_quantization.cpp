// ND195: quantised with one scale a row instead of one for the tensor: other codes, and no more error than
// the format predicts. The near miss decodes with one and a half times the scale.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 6, columns = 28;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 71));
  std::vector<float> scales(rows, 0);
  for (std::size_t i = 0; i < x.size(); ++i) {
    float& s = scales[v == version::reference ? 0 : i / columns];
    s = std::max(s, static_cast<float>(std::abs(x[i]) / 448));
  }
  if (v == version::reference) scales.assign(rows, scales[0]);
  const array y = mapped(dtype::f8e4m3fn, {rows, columns},
                         [&](std::size_t i) { return x[i] / static_cast<double>(scales[i / columns]); });
  if (v == version::near_miss)
    for (float& s : scales) s *= 1.5F;
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "rows.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_row(scales.data())));
}

const reproduction nd195("ND195", run, {.near_miss = "ND305", .found_in = "findings"});

}  // namespace
