// ND404: rotary positions above 2048 are held in fp16, which knows only every second of them, and above 4096
// every fourth. The near miss holds them in fp16 too, below 2048.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void rotate(const char* name, double first, bool halves) {
  constexpr std::int64_t tokens = 30, heads = 2, width = 24;
  constexpr std::size_t half = width / 2;
  const array x(dtype::f32, {tokens, heads, width}, normal(tokens * heads * width, 41));
  const array positions =
      mapped(dtype::i32, {tokens}, [&](std::size_t t) { return first + 3 * static_cast<double>(t); });
  array y(dtype::f32, {tokens, heads, width});
  for (std::size_t row = 0; row < tokens * heads; ++row) {
    const double position = halves ? rounded(dtype::f16, positions[row / heads]) : positions[row / heads];
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = position * std::pow(500000.0, -2 * static_cast<double>(i) / width);
      const std::size_t a = row * width + i, b = a + half;
      y.set(a, x[a] * std::cos(angle) - x[b] * std::sin(angle));
      y.set(b, x[b] * std::cos(angle) + x[a] * std::sin(angle));
    }
  }
  NUMDIFF_OP(op, name, rope, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "positions", positions.seen());
  NUMDIFF_SCALAR(op, "base", 500000.0);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

void run(version v, numdiff::session&, std::int32_t) {
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  rotate("early.rotate", 1900, v != version::reference);
  rotate("late.rotate", 4801, v == version::test);
}

const reproduction nd404("ND404", run);

}  // namespace
