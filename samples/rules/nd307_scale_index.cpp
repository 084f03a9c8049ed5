// ND307: a kernel decodes blocks of 4 x 8 and walks through the scales in column order. In the near miss
// every block has its own scale, rounded up to a power of two.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 12, columns = 32, across = columns / 8, down = rows / 4;
  const auto block = [](std::size_t i) { return i / columns / 4 * across + i % columns / 8; };
  const std::vector<double> values = normal(rows * columns, 83);
  std::vector<float> scales(across * down, 0);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = values[i] * std::pow(1.7, static_cast<double>(block(i) * 5 % 7));
    scales[block(i)] = std::max(scales[block(i)], static_cast<float>(std::abs(x) / 448));
  }
  const array codes = mapped(dtype::f8e4m3fn, {rows, columns}, [&](std::size_t i) {
    return values[i] * std::pow(1.7, static_cast<double>(block(i) * 5 % 7)) /
           static_cast<double>(scales[block(i)]);
  });
  const array y = mapped(dtype::bf16, {rows, columns}, [&](std::size_t i) {
    const std::size_t b = block(i), other = b % across * down + b / across;
    const auto s = static_cast<double>(scales[v == version::test ? other : b]);
    return codes[i] * (v == version::near_miss ? std::exp2(std::ceil(std::log2(s))) : s);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "blocks.decode", cast, numdiff::dtypes(dtype::f8e4m3fn, dtype::f32, dtype::bf16));
  NUMDIFF_INPUT(op, "codes", codes.seen().scaled(numdiff::scale_block(4, 8, scales.data())));
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd307("ND307", run, {.near_miss = "ND305"});

}  // namespace
