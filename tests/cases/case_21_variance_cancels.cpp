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
