// One FP8 scale for a fused weight whose parts differ in size by 10^5.
// Reported as vllm-project/vllm#41021.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t rows = 64, columns = 64;

// The lower half of the rows is small.
program quantised(bool by_row) {
  return [=](session&, std::int32_t) {
    std::vector<double> raw = normal(rows * columns, 8, 25);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      raw[i] = std::fmax(-100, std::fmin(100, raw[i]));
      if (i >= raw.size() / 2) raw[i] *= 1e-3 / 25;
    }
    raw[3] = 100;
    const array w(dtype::f32, {rows, columns}, raw);
    std::vector<float> scales(by_row ? rows : 1);
    for (std::size_t r = 0; r < scales.size(); ++r) {
      double amax = 0;
      for (std::size_t i = 0; i < w.size(); ++i)
        if (!by_row || i / columns == r) amax = std::fmax(amax, std::fabs(w[i]));
      scales[r] = static_cast<float>(amax / 448);
    }
    const array codes = mapped(dtype::f8e4m3fn, {rows, columns}, [&](std::size_t i) {
      return w[i] / static_cast<double>(scales[by_row ? i / columns : 0]);
    });
    NUMDIFF_OP(op, "weight quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
    NUMDIFF_INPUT(op, "w", w.seen());
    const numdiff::view v = codes.seen();
    NUMDIFF_CAST(op, "w8", w.seen(),
                 by_row ? v.scaled(scale_per_row(scales.data())) : v.scaled(scale_per_tensor(scales.data())));
  };
}

// int8: what is below half a step of the largest row's scale is gone.
program bytes(bool by_row) {
  return [=](session&, std::int32_t) {
    std::vector<double> raw = normal(rows * columns, 8, 25);
    for (std::size_t i = 0; i < raw.size(); ++i) {
      raw[i] = std::fmax(-100, std::fmin(100, raw[i]));
      if (i >= raw.size() / 2) raw[i] *= 4e-3;
    }
    const array w(dtype::f32, {rows, columns}, raw);
    std::vector<float> scales(by_row ? rows : 1);
    for (std::size_t r = 0; r < scales.size(); ++r) {
      double amax = 0;
      for (std::size_t i = 0; i < w.size(); ++i)
        if (!by_row || i / columns == r) amax = std::fmax(amax, std::fabs(w[i]));
      scales[r] = static_cast<float>(amax / 127);
    }
    const array codes = mapped(dtype::i8, {rows, columns}, [&](std::size_t i) {
      return w[i] / static_cast<double>(scales[by_row ? i / columns : 0]);
    });
    NUMDIFF_OP(op, "weight quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::i8));
    NUMDIFF_INPUT(op, "w", w.seen());
    const numdiff::view v = codes.seen();
    NUMDIFF_CAST(op, "w8", w.seen(),
                 by_row ? v.scaled(scale_per_row(scales.data())) : v.scaled(scale_per_tensor(scales.data())));
  };
}

}  // namespace

TEST_CASE("a scale that spans groups of very different size flushes the small one") {
  const auto c = compared(quantised(true), quantised(false));
  INFO(told(c));
  CHECK(first(c) == "weight quantise underflow scale-granularity");
  CHECK(number(c, "group_first_row") == rows / 2);
}

TEST_CASE("a scale for each row is no fault") {
  const auto c = compared(quantised(true), quantised(true));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("one int8 scale for rows of which half are below its step") {
  const auto c = compared(bytes(true), bytes(false));
  INFO(told(c));
  CHECK(first(c) == "weight quantise underflow scale-granularity");
  CHECK(number(c, "group_first_row") == rows / 2);
}
