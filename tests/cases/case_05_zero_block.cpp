// Blocks of zeros are divided by the scale that their largest value, zero, makes.
// Reported as pytorch/ao#4713.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 256, block = 128;

program quantised(double floor) {
  return [=](session&, std::int32_t) {
    array w(dtype::f32, {n, n});
    w.set(0, 1);
    std::vector<float> scales(4);
    for (std::size_t b = 0; b < 4; ++b)
      scales[b] = static_cast<float>(std::fmax(b == 0 ? 1.0 / 448 : 0, floor));
    const auto block_of = [](std::size_t i) { return i / n / block * 2 + i % n / block; };
    const array codes = mapped(dtype::f8e4m3fn, {n, n}, [&](std::size_t i) {
      return w[i] / static_cast<double>(scales[block_of(i)]);
    });
    const auto stored = [&] {
      NUMDIFF_OP(op, "quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
      NUMDIFF_INPUT(op, "w", w.seen());
      NUMDIFF_CAST(op, "w8", w.seen(), codes.seen().scaled(scale_block(block, block, scales.data())));
      return 0;
    };
    stored();
    const array x(dtype::f32, {1, n}, 1.0);
    NUMDIFF_OP(op, "product", matmul, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(1, n, n));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_WEIGHT(op, "w8", codes.seen().scaled(scale_block(block, block, scales.data())));
    array y(dtype::f32, {1, n});
    for (std::size_t j = 0; j < n; ++j) {
      double total = 0;
      for (std::size_t k = 0; k < n; ++k)
        total += codes[k * n + j] * static_cast<double>(scales[block_of(k * n + j)]);
      y.set(j, total);
    }
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

// The same in steps of its own: the largest of each row, its scale, a division, a cast.
program in_steps(double floor) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t batch = 3, rows = 5, length = 33;
    const dtype f32 = dtype::f32;
    std::vector<double> raw = normal(batch * rows * length, 4);
    for (const std::size_t row : {2U, 11U})
      for (std::size_t k = 0; k < length; ++k) raw[row * length + k] = 0;
    const array x(f32, {batch, rows, length}, raw);
    const array scales = mapped(f32, {batch, rows, 1}, [&](std::size_t r) {
      double amax = floor;
      for (std::size_t k = 0; k < length; ++k) amax = std::fmax(amax, std::fabs(x[r * length + k]));
      return amax / 448;
    });
    const auto scaled = [&] {
      NUMDIFF_OP(op, "row scales", row_scale, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_OUTPUT(op, "scales", scales.seen());
      return 0;
    };
    scaled();
    const array y =
        mapped(f32, {batch, rows, length}, [&](std::size_t i) { return x[i] / scales[i / length]; });
    const auto divided = [&] {
      NUMDIFF_OP(op, "normalise", divide, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_INPUT(op, "by", scales.seen());
      NUMDIFF_OUTPUT(op, "y", y.seen());
      return 0;
    };
    divided();
    const array codes = y.as(dtype::f8e4m3fn);
    NUMDIFF_OP(op, "store", cast, numdiff::dtypes(f32, f32, dtype::f8e4m3fn));
    NUMDIFF_INPUT(op, "y", y.seen());
    NUMDIFF_CAST(op, "codes", y.seen(), codes.seen());
  };
}

}  // namespace

TEST_CASE("the quantisation of zeros made the NaN, not the product that passes it on") {
  const auto c = compared(quantised(1e-12), quantised(0));
  INFO(told(c));
  CHECK(first(c) == "quantise nan zero-scale");
  CHECK(nonfinite(c) == "quantise");
  CHECK(number(c, "nan") == 3 * block * block);
  CHECK(number(c, "scales_zero") == 3);
}

TEST_CASE("a division by the scales of rows, of which some are all zero") {
  const auto c = compared(in_steps(1e-12), in_steps(0));
  INFO(told(c));
  CHECK(first(c) == "normalise nan zero-scale");
  CHECK(nonfinite(c) == "normalise");
  CHECK(number(c, "scales_zero") == 2);
}
