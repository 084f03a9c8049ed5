// ND403: a layer norm takes the variance of nearly equal numbers as E[x^2] - E[x]^2 in fp32. The near miss
// uses the same formula after it took the row's first element away.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

struct moments {
  float mean, variance;
};

moments by_passes(const array& x, std::size_t first, std::size_t n) {
  float sum = 0, squares = 0;
  for (std::size_t i = first; i < first + n; ++i) sum += static_cast<float>(x[i]);
  const float mean = sum / static_cast<float>(n);
  for (std::size_t i = first; i < first + n; ++i)
    squares += (static_cast<float>(x[i]) - mean) * (static_cast<float>(x[i]) - mean);
  return {mean, squares / static_cast<float>(n)};
}

moments by_difference(const array& x, std::size_t first, std::size_t n, float shift) {
  float sum = 0, squares = 0;
  for (std::size_t i = first; i < first + n; ++i) {
    const float d = static_cast<float>(x[i]) - shift;
    sum += d;
    squares += d * d;
  }
  const float mean = sum / static_cast<float>(n);
  return {mean + shift, std::max(0.0F, squares / static_cast<float>(n) - mean * mean)};
}

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 20, width = 72;
  const array x(dtype::f32, {rows, width}, normal(rows * width, 31, 1, 900)),
      weight(dtype::f32, {width}, normal(width, 32, 0.2, 1)),
      bias(dtype::f32, {width}, normal(width, 33, 0.1));
  const double eps = 1e-5;
  array y(dtype::f32, {rows, width});
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * width;
    const moments m =
        v == version::reference
            ? by_passes(x, first, width)
            : by_difference(x, first, width, v == version::test ? 0.0F : static_cast<float>(x[first]));
    const float inverse = 1 / std::sqrt(m.variance + static_cast<float>(eps));
    for (std::size_t i = 0; i < width; ++i) {
      const float centred = (static_cast<float>(x[first + i]) - m.mean) * inverse;
      y.set(first + i,
            static_cast<double>(centred * static_cast<float>(weight[i]) + static_cast<float>(bias[i])));
    }
  }
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "head.norm", layer_norm, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "weight", weight.seen());
  NUMDIFF_WEIGHT(op, "bias", bias.seen());
  NUMDIFF_SCALAR(op, "eps", eps);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd403("ND403", run);

}  // namespace
