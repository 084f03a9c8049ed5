// ND410: an RMS norm stores the normalised row in fp16 and then multiplies it by the weight; the reference
// rounds once, at the end. The near miss rounds at the end too, and divides by the root instead of
// multiplying by its reciprocal.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 15, width = 88;
  const array x(dtype::f16, {rows, width}, normal(rows * width, 111, 2)),
      weight(dtype::f16, {width}, normal(width, 112, 0.3, 1));
  array y(dtype::f16, {rows, width});
  for (std::size_t row = 0; row < rows; ++row) {
    float squares = 0;
    for (std::size_t i = 0; i < width; ++i)
      squares += static_cast<float>(x[row * width + i] * x[row * width + i]);
    const float root = std::sqrt(squares / width + 1e-6F);
    for (std::size_t i = 0; i < width; ++i) {
      const auto value = static_cast<float>(x[row * width + i]);
      auto normalised = static_cast<double>(v == version::near_miss ? value / root : value * (1 / root));
      if (v == version::test) normalised = rounded(dtype::f16, normalised);
      y.set(row * width + i, normalised * weight[i]);
    }
  }
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "query.norm", rms_norm, numdiff::dtypes(dtype::f16, dtype::f32, dtype::f16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "weight", weight.seen());
  NUMDIFF_SCALAR(op, "eps", 1e-6);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd410("ND410", run);

}  // namespace
