// ND413: the variance of large and nearly equal numbers, formed as E[x^2] - E[x]^2 in fp32, is below zero.
// The near miss forms it so as well, from the distances to the row's first element.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 18, width = 60;
  const array x(dtype::f32, {rows, width}, normal(rows * width, 141, 0.02, 4000));
  const array variances = mapped(dtype::f32, {rows}, [&](std::size_t row) {
    const std::size_t first = row * width;
    float shift = 0;
    if (v == version::reference) {
      for (std::size_t i = first; i < first + width; ++i) shift += static_cast<float>(x[i]);
      shift /= width;
    } else if (v == version::near_miss) {
      shift = static_cast<float>(x[first]);
    }
    float sum = 0, squares = 0;
    for (std::size_t i = first; i < first + width; ++i) {
      const float d = static_cast<float>(x[i]) - shift;
      sum += d;
      squares += d * d;
    }
    const float mean = sum / width;
    return static_cast<double>(squares / width - mean * mean);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(evaluation);
  NUMDIFF_OP(op, "drift.variance", variance, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "variance", variances.seen());
}

const reproduction nd413("ND413", run);

}  // namespace
