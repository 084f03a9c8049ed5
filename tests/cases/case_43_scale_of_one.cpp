// An FP8 cache whose scale was never set.
// Reported as vllm-project/vllm#11906.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program cached(double largest, double scale) {
  return [=](session&, std::int32_t) {
    const array x(dtype::f32, {4}, {largest, -0.75 * largest, 3, 0.001});
    const float s = static_cast<float>(scale);
    const array codes =
        mapped(dtype::f8e4m3fn, {4}, [&](std::size_t i) { return x[i] / static_cast<double>(s); });
    NUMDIFF_OP(op, "cache cast", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
    NUMDIFF_INPUT(op, "kv", x.seen());
    NUMDIFF_CAST(op, "kv8", x.seen(), codes.seen().scaled(scale_per_tensor(&s)));
  };
}

}  // namespace

TEST_CASE("saturation with a scale of exactly one is an uncalibrated scale") {
  const auto c = compared(cached(700, 700.0 / 448), cached(700, 1));
  INFO(told(c));
  CHECK(first(c) == "cache cast saturation uncalibrated-scale");
  CHECK(number(c, "saturated") == 2);
}

TEST_CASE("a scale of one that fits is no fault") {
  const auto c = compared(cached(300, 300.0 / 448), cached(300, 1));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
