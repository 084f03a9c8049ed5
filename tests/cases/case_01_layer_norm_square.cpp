// A layer norm whose steps are all fp16: one square overflows, the division by infinity hides it.
// Reported as microsoft/onnxruntime#31626; the overflowing sum as onnxruntime#29034.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t width = 768;

program layer_norm(dtype t) {
  return [t](session&, std::int32_t) {
    std::vector<double> raw = normal(width, 1);
    raw[10] = 795;
    const array x = array(dtype::f16, {1, width}, raw).as(t);
    const auto all = numdiff::dtypes(t, dtype::f32, t);
    const auto mean_of = [&](const char* name, const array& a) {
      NUMDIFF_OP(op, name, mean, all.reduction(width));
      NUMDIFF_INPUT(op, "x", a.seen());
      double total = 0;
      for (const double v : a.values()) total += v;
      const array m(t, {1, 1}, total / width);
      NUMDIFF_OUTPUT(op, "mean", m.seen());
      return m;
    };
    const array center = mean_of("ReduceMean", x);
    const auto apart = [&] {
      NUMDIFF_OP(op, "Sub", subtract, all);
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_INPUT(op, "mean", center.seen());
      const array d = mapped(t, {1, width}, [&](std::size_t i) { return x[i] - center[0]; });
      NUMDIFF_OUTPUT(op, "d", d.seen());
      return d;
    };
    const array d = apart();
    const auto squares = [&] {
      NUMDIFF_OP(op, "Pow", square, all);
      NUMDIFF_INPUT(op, "d", d.seen());
      const array s = mapped(t, {1, width}, [&](std::size_t i) { return d[i] * d[i]; });
      NUMDIFF_OUTPUT(op, "squares", s.seen());
      return s;
    };
    const array variance = mean_of("Variance", squares());
    const auto root = [&] {
      NUMDIFF_OP(op, "Sqrt", square_root, all);
      NUMDIFF_INPUT(op, "variance", variance.seen());
      const array s(t, {1, 1}, std::sqrt(variance[0]));
      NUMDIFF_OUTPUT(op, "deviation", s.seen());
      return s;
    };
    const array s = root();
    NUMDIFF_OP(op, "Div", divide, all);
    NUMDIFF_INPUT(op, "d", d.seen());
    NUMDIFF_INPUT(op, "deviation", s.seen());
    const array y = mapped(t, {1, width}, [&](std::size_t i) { return d[i] / s[0]; });
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

// The mean of squares as a sum of terms that all fit, added one by one in the format itself.
program mean_of_squares(dtype t, dtype sum_type) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t count = 2048;
    const array x(t, {count}, 256.0);
    const auto terms_of = [&] {
      NUMDIFF_OP(op, "Mul", multiply, numdiff::dtypes(t, dtype::f32, t));
      const array part(t, {count}, 256.0 / count);
      NUMDIFF_INPUT(op, "part", part.seen());
      NUMDIFF_INPUT(op, "x", x.seen());
      const array y = mapped(t, {count}, [&](std::size_t i) { return part[i] * x[i]; });
      NUMDIFF_OUTPUT(op, "terms", y.seen());
      return y;
    };
    const array terms = terms_of();
    NUMDIFF_OP(op, "ReduceMean", sum,
               numdiff::dtypes(t, sum_type, t).reduction(count).order(reduction_order::sequential));
    NUMDIFF_INPUT(op, "terms", terms.seen());
    double total = 0;
    for (const double v : terms.values()) total = rounded(sum_type, total + v);
    const array y(t, {1}, total);
    NUMDIFF_OUTPUT(op, "mean", y.seen());
  };
}

// The whole norm in one op; its squares are summed in `inner`, whatever its record says.
program fused_norm(dtype t, dtype told, dtype inner) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 5, length = 640;
    std::vector<double> raw = normal(rows * length, 21, 3);
    raw[length + 5] = 600;
    raw[3 * length + 9] = -900;
    const array x = array(dtype::f16, {rows, length}, raw).as(t), gamma(t, {length}, 1.5),
                beta = array(dtype::f16, {length}, normal(length, 9, 0.2)).as(t);
    NUMDIFF_OP(op, "final norm", layer_norm, numdiff::dtypes(t, told, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_WEIGHT(op, "gamma", gamma.seen());
    NUMDIFF_WEIGHT(op, "beta", beta.seen());
    NUMDIFF_SCALAR(op, "eps", 1e-5F);
    std::vector<double> y(rows * length);
    for (std::size_t r = 0; r < rows; ++r) {
      const auto at = [&](std::size_t i) { return x[r * length + i]; };
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < length; ++i) sum = rounded(inner, sum + at(i));
      const double mean = rounded(inner, sum / length);
      for (std::size_t i = 0; i < length; ++i) {
        const double d = rounded(inner, at(i) - mean);
        squares = rounded(inner, squares + rounded(inner, d * d));
      }
      const double inverse = 1 / std::sqrt(squares / length + rounded(dtype::f32, 1e-5));
      for (std::size_t i = 0; i < length; ++i)
        y[r * length + i] = rounded(inner, (at(i) - mean) * inverse * gamma[i]) + beta[i];
    }
    const array out(t, {rows, length}, y);
    NUMDIFF_OUTPUT(op, "y", out.seen());
  };
}

}  // namespace

TEST_CASE("an overflow that the output does not show is found where it is made") {
  const auto c = compared(layer_norm(dtype::f32), layer_norm(dtype::f16));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(first(c) == "Pow overflow op-overflow");
  CHECK(nonfinite(c) == "Pow");
  CHECK(lost(c) == "Div overflow");
}

TEST_CASE("a sum of terms in range that leaves the range of its accumulator") {
  const auto c = compared(mean_of_squares(dtype::f32, dtype::f32), mean_of_squares(dtype::f16, dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "ReduceMean overflow accumulator-overflow");
  CHECK(nonfinite(c) == "ReduceMean");
}

TEST_CASE("squares that overflow inside a fused norm leave rows of its bias") {
  for (const dtype declared : {dtype::f16, dtype::f32}) {
    const auto c = compared(fused_norm(dtype::f32, dtype::f32, dtype::f32),
                            fused_norm(dtype::f16, declared, dtype::f16));
    INFO(name_of(declared) << " declared; " << told(c));
    CHECK(first(c) == "final norm overflow op-overflow");
    CHECK(nonfinite(c) == "none");
  }
}

TEST_CASE("bf16 has the range for the squares of the same norm") {
  const auto c = compared(fused_norm(dtype::f32, dtype::f32, dtype::f32),
                          fused_norm(dtype::bf16, dtype::f32, dtype::f32));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("a mean of terms in range that arrive at nine tenths is low, and no overflow") {
  const auto energy = [](dtype t) -> program {
    return [=](session&, std::int32_t) {
      constexpr std::size_t count = 2048;
      const array x(t, {3, count}, 200.0 / count * 200);
      NUMDIFF_OP(op, "energy", mean,
                 numdiff::dtypes(t, t, t).reduction(count).order(reduction_order::sequential));
      NUMDIFF_INPUT(op, "x", x.seen());
      const array y = mapped(t, {3, 1}, [&](std::size_t r) {
        double total = 0;
        for (std::size_t i = 0; i < count; ++i) total = rounded(t, total + x[r * count + i]);
        return total / count;
      });
      NUMDIFF_OUTPUT(op, "mean", y.seen());
    };
  };
  const auto c = compared(energy(dtype::f32), energy(dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "energy bias low-precision-accumulate");
  CHECK(nonfinite(c) == "none");
}
