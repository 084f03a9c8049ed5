// FP8 weights are cast once and kept, while their scale is renewed in every micro-batch.
// Reported as NVIDIA/TransformerEngine#1047.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 64;

program training(bool renews) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    std::vector<double> raw = normal(n, 9, 0.6);
    raw[0] = -1.7;
    for (double& v : raw) v = std::fmax(-1.7, std::fmin(1.7, v));
    const array w(f32, {n}, raw);
    float encode = 1;
    const array codes = w.as(dtype::f8e4m3fn);
    NUMDIFF_STEP(0);
    for (int part = 0; part < 3; ++part) {
      NUMDIFF_MICRO_BATCH(part);
      if (part == 0) {
        NUMDIFF_OP(op, "weight quantise", cast, numdiff::dtypes(f32, f32, dtype::f8e4m3fn));
        NUMDIFF_WEIGHT(op, "w", w.seen());
        NUMDIFF_CAST(op, "w8", w.seen(), codes.seen().scaled(scale_per_tensor(&encode).encode()));
      }
      if (part > 0 && renews) encode = static_cast<float>(448 / 1.7);
      NUMDIFF_OP(op, "weight dequantise", cast, numdiff::dtypes(dtype::f8e4m3fn, f32, f32));
      NUMDIFF_WEIGHT(op, "w8", codes.seen().scaled(scale_per_tensor(&encode).encode()));
      const array y = mapped(f32, {n}, [&](std::size_t i) { return codes[i] / static_cast<double>(encode); });
      NUMDIFF_OUTPUT(op, "w", y.seen());
    }
  };
}

}  // namespace

TEST_CASE("codes that stay under a scale that changes") {
  const auto c = compared(training(false), training(true));
  INFO(told(c));
  CHECK(first(c) == "weight dequantise factor scale-mismatch");
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.micro_batch == 1);
}
