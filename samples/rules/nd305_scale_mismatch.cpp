// ND305: a product decodes cached weights with the scales of newer ones. The near miss has the new scales
// too, and codes that were made with them.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 16, columns = 6, tokens = 5;

array quantized(const array& w, const std::vector<float>& scales) {
  return mapped(dtype::f8e4m3fn, {rows, columns},
                [&](std::size_t i) { return w[i] / static_cast<double>(scales[i % columns]); });
}

void run(version v, numdiff::session&, std::int32_t) {
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  const array w(dtype::f32, {rows, columns}, normal(rows * columns, 63, 0.02)),
      x(dtype::f32, {tokens, rows}, normal(tokens * rows, 64));
  std::vector<float> scales(columns, 0);
  for (std::size_t i = 0; i < w.size(); ++i)
    scales[i % columns] = std::max(scales[i % columns], static_cast<float>(std::abs(w[i]) / 448));
  std::vector<float> newer = scales;
  for (float& s : newer) s *= 1.375F;
  const std::vector<float>& made = v == version::near_miss ? newer : scales;
  const std::vector<float>& used = v == version::reference ? scales : newer;
  const array codes = quantized(w, made);
  {
    NUMDIFF_OP(op, "weights.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
    NUMDIFF_WEIGHT(op, "w", w.seen());
    NUMDIFF_CAST(op, "codes", w.seen(), codes.seen().scaled(numdiff::scale_per_column(made.data())));
  }
  const array y = mapped(dtype::f32, {tokens, columns}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < rows; ++k)
      sum += x[i / columns * rows + k] * codes[k * columns + i % columns];
    return sum * static_cast<double>(used[i % columns]);
  });
  NUMDIFF_OP(op, "router", matmul,
             numdiff::dtypes(dtype::f32, dtype::f8e4m3fn, dtype::f32, dtype::f32).mnk(tokens, columns, rows));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "codes", codes.seen().scaled(numdiff::scale_per_column(used.data())));
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd305("ND305", run);

}  // namespace
