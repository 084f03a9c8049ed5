// A residual stream in bf16 whose sums are cut instead of rounded.
// Reported as ROCm/aiter#5151.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"
#include "numdiff/format.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program residuals(dtype t, rounding how) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t width = 4096;
    cast_rule rule;
    rule.round = how;
    array x = array(dtype::bf16, {width}, normal(width, 1, 4)).as(t);
    for (int layer = 0; layer < 4; ++layer) {
      const array y =
          array(dtype::bf16, {width}, normal(width, static_cast<std::uint64_t>(10 + layer), 0.05)).as(t);
      NUMDIFF_SCOPE(layer == 0 ? "0" : layer == 1 ? "1" : layer == 2 ? "2" : "3");
      NUMDIFF_OP(op, "residual add", add, numdiff::dtypes(t, dtype::f32, t));
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_INPUT(op, "y", y.seen());
      const array sum = mapped(
          t, {width}, [&](std::size_t i) { return static_cast<double>(static_cast<float>(x[i] + y[i])); },
          rule);
      NUMDIFF_OUTPUT(op, "sum", sum.seen());
      x = sum;
    }
  };
}

program quantised(dtype t, rounding how) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 13, columns = 101;
    cast_rule rule;
    rule.round = how;
    const array x(dtype::f32, {rows, columns}, normal(rows * columns, 4, 1.3));
    double amax = 0;
    for (const double v : x.values()) amax = std::fmax(amax, std::fabs(v));
    const float scale = static_cast<float>(amax / numdiff::format_of(t).max_finite());
    const array codes = mapped(
        t, {rows, columns}, [&](std::size_t i) { return x[i] / static_cast<double>(scale); }, rule);
    NUMDIFF_OP(op, "quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_CAST(op, "codes", x.seen(), codes.seen().scaled(scale_per_tensor(&scale)));
  };
}

}  // namespace

TEST_CASE("sums that are cut are named in the first layer") {
  const auto c =
      compared(residuals(dtype::f32, rounding::nearest_even), residuals(dtype::bf16, rounding::toward_zero));
  INFO(told(c));
  CHECK(first(c) == "residual add bias truncating-cast");
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.scope == "0");
  CHECK(number(c, "bias") < -0.5);
  CHECK(nonfinite(c) == "none");
}

TEST_CASE("sums that are rounded agree") {
  const auto c =
      compared(residuals(dtype::f32, rounding::nearest_even), residuals(dtype::bf16, rounding::nearest_even));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("codes that are cut are named, and never called equal without their values") {
  for (const dtype t : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::i8}) {
    const auto c = compared(quantised(t, rounding::nearest_even), quantised(t, rounding::toward_zero));
    INFO(name_of(t) << "; " << told(c));
    CHECK(first(c) == "quantise bias truncating-cast");
  }
}
