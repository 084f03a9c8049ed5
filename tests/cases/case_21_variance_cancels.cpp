// A variance formed as the mean of the squares less the square of the mean.
// Reported as microsoft/onnxruntime#28463.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program normalised(double v, bool two_passes) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    const array x(f32, {1, 4}, {v, v + 1, v + 2, v + 3});
    const auto spread = [&] {
      NUMDIFF_OP(op, "variance", variance, numdiff::dtypes(f32, f32, f32).reduction(4));
      NUMDIFF_INPUT(op, "x", x.seen());
      float sum = 0, squares = 0;
      for (const double e : x.values()) sum += static_cast<float>(e), squares += static_cast<float>(e * e);
      const float mean = sum / 4;
      float result = squares / 4 - mean * mean;
      if (two_passes) {
        result = 0;
        for (const double e : x.values())
          result += (static_cast<float>(e) - mean) * (static_cast<float>(e) - mean);
        result /= 4;
      }
      const array y(f32, {1}, static_cast<double>(result));
      NUMDIFF_OUTPUT(op, "variance", y.seen());
      return y;
    };
    const array var = spread();
    const double eps = rounded(f32, 1e-5);
    NUMDIFF_OP(op, "sqrt", reciprocal_square_root, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "variance", var.seen());
    NUMDIFF_SCALAR(op, "eps", eps);
    const array y(f32, {1}, 1 / std::sqrt(var[0] + eps));
    NUMDIFF_OUTPUT(op, "factor", y.seen());
  };
}

// The same steps captured one by one.
program in_steps(dtype t, double center, double deviation) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 7, length = 1027;
    const array x = array(dtype::f32, {rows, length}, normal(rows * length, 3, deviation, center)).as(t);
    const auto all = numdiff::dtypes(t, t, t);
    const auto mean_of = [&](const char* name, const array& a) {
      NUMDIFF_OP(op, name, mean, all.reduction(length));
      NUMDIFF_INPUT(op, "x", a.seen());
      const array m = mapped(t, {rows, 1}, [&](std::size_t r) {
        double total = 0;
        for (std::size_t i = 0; i < length; ++i) total = rounded(t, total + a[r * length + i]);
        return total / length;
      });
      NUMDIFF_OUTPUT(op, "mean", m.seen());
      return m;
    };
    const auto square_of = [&](const char* name, const array& a, std::int64_t width) {
      NUMDIFF_OP(op, name, square, all);
      NUMDIFF_INPUT(op, "x", a.seen());
      const array s = mapped(t, {rows, width}, [&](std::size_t i) { return a[i] * a[i]; });
      NUMDIFF_OUTPUT(op, "squares", s.seen());
      return s;
    };
    const array of_squares = mean_of("mean of squares", square_of("square", x, length)),
                of_mean = square_of("square of mean", mean_of("mean", x), 1);
    const auto difference = [&] {
      NUMDIFF_OP(op, "spread", subtract, all);
      NUMDIFF_INPUT(op, "a", of_squares.seen());
      NUMDIFF_INPUT(op, "b", of_mean.seen());
      const array v = mapped(t, {rows, 1}, [&](std::size_t r) { return of_squares[r] - of_mean[r]; });
      NUMDIFF_OUTPUT(op, "v", v.seen());
      return v;
    };
    const array v = difference();
    NUMDIFF_OP(op, "root", square_root, all);
    NUMDIFF_INPUT(op, "v", v.seen());
    const array y = mapped(t, {rows, 1}, [&](std::size_t r) { return std::sqrt(v[r]); });
    NUMDIFF_OUTPUT(op, "deviation", y.seen());
  };
}

// A layer norm whose variance is formed inside, without a floor.
program fused(double center, bool two_passes) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 6, length = 768;
    const dtype f32 = dtype::f32;
    const array x(f32, {rows, length}, normal(rows * length, 3, 0.1, center)), gamma(f32, {length}, 1.5),
        beta(f32, {length}, 0.25);
    NUMDIFF_OP(op, "norm", layer_norm, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_WEIGHT(op, "gamma", gamma.seen());
    NUMDIFF_WEIGHT(op, "beta", beta.seen());
    NUMDIFF_SCALAR(op, "eps", rounded(f32, 1e-6));
    std::vector<double> y(rows * length);
    for (std::size_t r = 0; r < rows; ++r) {
      float sum = 0, squares = 0, spread = 0;
      const auto at = [&](std::size_t i) { return static_cast<float>(x[r * length + i]); };
      for (std::size_t i = 0; i < length; ++i) sum += at(i), squares += at(i) * at(i);
      const float mean = sum / length;
      for (std::size_t i = 0; i < length; ++i) spread += (at(i) - mean) * (at(i) - mean);
      const float variance = two_passes ? spread / length : squares / length - mean * mean;
      const float inverse = 1 / std::sqrt(variance + 1e-6F);
      for (std::size_t i = 0; i < length; ++i)
        y[r * length + i] = static_cast<double>((at(i) - mean) * inverse * 1.5F + 0.25F);
    }
    const array out(f32, {rows, length}, y);
    NUMDIFF_OUTPUT(op, "y", out.seen());
  };
}

}  // namespace

TEST_CASE("a negative variance is impossible and comes from cancellation") {
  const auto c = compared(normalised(40000, true), normalised(40000, false));
  INFO(told(c));
  CHECK(first(c) == "variance invariant cancellation");
  CHECK(nonfinite(c) == "sqrt");
  CHECK(number(c, "condition") == doctest::Approx(1.28e9).epsilon(0.01));
}

TEST_CASE("a variance of zero makes no NaN and is wrong all the same") {
  const auto c = compared(normalised(10000, true), normalised(10000, false));
  INFO(told(c));
  CHECK(first(c) == "variance mismatch cancellation");
  CHECK(nonfinite(c) == "none");
}

TEST_CASE("where the squares are exact both forms agree") {
  const auto c = compared(normalised(2000, true), normalised(2000, false));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("a variance in steps of its own: the difference is named, not the root of what it leaves") {
  const auto c = compared(in_steps(dtype::f64, 5000, 0.3), in_steps(dtype::f32, 5000, 0.3));
  INFO(told(c));
  CHECK(first(c) == "spread invariant cancellation");
  CHECK(nonfinite(c) == "root");
}

TEST_CASE("the same steps near a small mean") {
  const auto c = compared(in_steps(dtype::f64, 1, 1), in_steps(dtype::f32, 1, 1));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("a fused norm whose variance comes out below zero") {
  const auto c = compared(fused(8000, true), fused(8000, false));
  INFO(told(c));
  CHECK(first(c) == "norm nan cancellation");
  CHECK(nonfinite(c) == "norm");
}
