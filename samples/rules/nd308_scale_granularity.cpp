// ND308: the first columns of a tensor are thousands of times larger than the others and share their rows'
// scales. In the near miss columns are small and large at random, as data are.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 18, columns = 40;
  const bool random = v == version::near_miss || v == version::near_miss_reference;
  const bool quantized = v == version::test || v == version::near_miss;
  const std::vector<double> values = normal(rows * columns, 93), sizes = normal(columns, 94, 2.5);
  const array x = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) {
    const std::size_t c = i % columns;
    return values[i] * (random ? std::exp(sizes[c]) : c < 4 ? 900.0 : 0.01);
  });
  std::vector<float> scales(rows, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    scales[i / columns] = std::max(scales[i / columns], static_cast<float>(std::abs(x[i]) / 448));
  const dtype stored = quantized ? dtype::f8e4m3fn : dtype::bf16;
  const array y = mapped(stored, {rows, columns}, [&](std::size_t i) {
    return quantized ? x[i] / static_cast<double>(scales[i / columns]) : x[i];
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "mixed.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  if (quantized)
    NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_row(scales.data())));
  else
    NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd308("ND308", run, {.own_reference = true});

}  // namespace
