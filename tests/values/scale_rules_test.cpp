#include "numdiff/scale_rules.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "numdiff/decode.hpp"

namespace {

using numdiff::dtype;
using numdiff::encode_scale;
using numdiff::mx_rule;
using numdiff::mx_scale;

float random_float(std::mt19937_64& random) {
  return numdiff::detail::float_of(static_cast<std::uint32_t>(random()));
}

TEST_CASE("FP32 product and quotient are the machine's") {
  std::mt19937_64 random(5);
  long wrong = 0;
  for (int i = 0; i < 1000000; ++i) {
    const float a = random_float(random), b = random_float(random);
    const float product = numdiff::detail::f32_product(a, b), quotient = numdiff::detail::f32_quotient(a, b);
    wrong += std::isnan(a * b) ? !std::isnan(product)
                               : numdiff::detail::bits_of(product) != numdiff::detail::bits_of(a * b);
    wrong += std::isnan(a / b) ? !std::isnan(quotient)
                               : numdiff::detail::bits_of(quotient) != numdiff::detail::bits_of(a / b);
  }
  for (const float x : {0.0f, -0.0f, 1.0f, HUGE_VALF, 1e-45f, -3.0f}) {
    for (const float y : {0.0f, -0.0f, 2.0f, -HUGE_VALF, 1e-45f, 3e38f}) {
      const float quotient = numdiff::detail::f32_quotient(x, y);
      const bool same = std::isnan(x / y)
                            ? std::isnan(quotient)
                            : numdiff::detail::bits_of(quotient) == numdiff::detail::bits_of(x / y);
      CHECK(same);
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("FP32 encode scales and their edge cases") {
  CHECK(encode_scale(16, 448) == 28);
  CHECK(encode_scale(-16, 448) == 28);
  CHECK(encode_scale(17, 448, true) == 16);
  CHECK(encode_scale(16, 448, true) == 16);
  CHECK(encode_scale(0, 448) == 1);
  CHECK(encode_scale(HUGE_VALF, 448) == 1);
  CHECK(encode_scale(std::nanf(""), 448) == 1);
  CHECK(encode_scale(1e-40f, 448) == numdiff::f32_max);
  CHECK(encode_scale(1e-40f, 448, true) == 0x1p127f);
  CHECK(numdiff::inverse_scale(28) == 1.0f / 28);
}

TEST_CASE("E8M0 scales by the four rules, from first principles") {
  std::mt19937_64 random(6);
  const dtype elements[] = {dtype::f8e4m3fn, dtype::f8e5m2, dtype::f6e2m3fn, dtype::f6e3m2fn,
                            dtype::f4e2m1fn};
  for (const dtype t : elements) {
    const double maximum = numdiff::format_of(t).max_finite();
    const int emax = std::ilogb(maximum), mantissa = numdiff::format_of(t).mantissa_bits;
    long wrong = 0, clipped = 0;
    for (int i = 0; i < 100000; ++i) {
      const float amax = std::fabs(random_float(random));
      if (!std::isfinite(amax) || amax == 0 || std::ilogb(amax) - emax < -120) continue;
      const double a = static_cast<double>(amax);
      const auto exponent = [&](mx_rule rule) { return static_cast<int>(mx_scale(amax, t, rule)) - 127; };
      const int octave = std::ilogb(a);
      wrong += exponent(mx_rule::floor) != octave - emax;
      const int ceiling = std::ldexp(1.0, octave) == a ? octave : octave + 1;
      wrong += exponent(mx_rule::ceiling) != std::min(ceiling - emax, 127);
      const double rounded =
          std::ldexp(std::floor(std::ldexp(a, mantissa - octave) + 0.5), octave - mantissa);
      wrong += exponent(mx_rule::even) != std::ilogb(rounded) - emax;
      // never clips, and half the scale would
      const int rceil = exponent(mx_rule::rceil);
      const double slack = 1 + 0x1p-23;
      wrong += a > std::ldexp(maximum, rceil) * slack || a * slack <= std::ldexp(maximum, rceil - 1);
      clipped += a > std::ldexp(maximum, exponent(mx_rule::floor));
    }
    CHECK(wrong == 0);
    CHECK(clipped > 0);
  }
  for (const mx_rule rule : {mx_rule::floor, mx_rule::rceil, mx_rule::ceiling, mx_rule::even}) {
    CHECK(mx_scale(0, dtype::f8e4m3fn, rule) == 0);
    CHECK(mx_scale(1e-44f, dtype::f8e4m3fn, rule) == 0);
    CHECK(mx_scale(HUGE_VALF, dtype::f8e4m3fn, rule) == 0xfe);
    CHECK(mx_scale(std::nanf(""), dtype::f8e4m3fn, rule) == 0xff);
  }
  // amax 500 is clipped to 448 by the floor rule, not by the others
  CHECK(mx_scale(500, dtype::f8e4m3fn, mx_rule::floor) == 127);
  CHECK(mx_scale(500, dtype::f8e4m3fn, mx_rule::rceil) == 128);
  CHECK(mx_scale(256, dtype::f8e4m3fn, mx_rule::ceiling) == 127);
  CHECK(mx_scale(257, dtype::f8e4m3fn, mx_rule::ceiling) == 128);
  CHECK(mx_scale(numdiff::f32_max, dtype::mxint8, mx_rule::ceiling) == 254);
  CHECK(mx_scale(448, dtype::f8e4m3fn, mx_rule::rceil) == 127);
  CHECK(mx_scale(6, dtype::f4e2m1fn, mx_rule::rceil) == 127);
  CHECK(mx_scale(496, dtype::f8e4m3fn, mx_rule::even) == 128);
  CHECK(mx_scale(495, dtype::f8e4m3fn, mx_rule::even) == 127);
  CHECK(mx_scale(0x1.fep127f, dtype::f8e4m3fn, mx_rule::even) == 127 + 120);  // the carry leaves binary32
  // mxint8's values lie in [-1.98, 1.98]: emax 0
  CHECK(mx_scale(1.5f, dtype::mxint8, mx_rule::floor) == 127);
}

TEST_CASE("NVFP4's two levels") {
  CHECK(numdiff::nvfp4_global_encode_scale(2688) == 1);
  CHECK(numdiff::nvfp4_global_encode_scale(0) == 1);
  CHECK(numdiff::nvfp4_block_scale(2688, 1) == 0x7e);
  CHECK(numdiff::nvfp4_block_scale(6, 1) == 0x38);
  // lost below amax / 458752, with the tie
  CHECK(numdiff::nvfp4_block_scale(1.0f / 458752, 2688) == 0);
  CHECK(numdiff::nvfp4_block_scale(1.0f / 458000, 2688) == 1);
}

TEST_CASE("delayed scaling: staging slot, keeping the scale, rolling") {
  float values[3] = {};
  const numdiff::amax_history history{values, 3};
  history.observe(-4);
  history.observe(2);
  history.observe(std::nanf(""));
  CHECK(values[0] == 4);
  CHECK(history.next_encode_scale(1, 448) == 112);
  CHECK(values[0] == 0);
  CHECK(values[1] == 4);
  history.observe(1);
  CHECK(history.next_encode_scale(112, 448) == 112);  // the largest of the history
  history.observe(1);
  CHECK(history.next_encode_scale(112, 448, 1) == 56);  // 4 is still there; margin 1 halves
  history.observe(1);
  CHECK(history.next_encode_scale(112, 448) == 448);  // and has left
  float recent[2] = {};
  const numdiff::amax_history newest{recent, 2, numdiff::amax_history::pick::most_recent};
  newest.observe(HUGE_VALF);
  CHECK(newest.next_encode_scale(7, 448) == 7);
  CHECK(newest.next_encode_scale(7, 448) == 7);  // amax 0
  newest.observe(1e-40f);
  CHECK(newest.next_encode_scale(7, 448) == numdiff::f32_max);
}

}  // namespace
