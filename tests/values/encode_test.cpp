#include "numdiff/encode.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "numdiff/decode.hpp"
#include "values/oracle.hpp"

namespace {

using numdiff::dtype;
using numdiff::encode;
using numdiff::overflow;
using numdiff::rounding;
using numdiff::test::known_format;
using numdiff::test::known_formats;
using numdiff::test::oracle;

constexpr rounding directed[] = {rounding::nearest_even, rounding::toward_zero, rounding::up};

static_assert(encode(dtype::bf16, 1.0) == 0x3f80);
static_assert(numdiff::encode_as<dtype::f16>(65520.0f) == 0x7c00);

// Every value, every midpoint, and the doubles next to them, both signs, past the maximum too.
std::vector<double> inputs(const oracle& exact) {
  std::vector<double> xs = {5e-324, 1e-300, 1e300, HUGE_VAL};
  for (std::uint64_t i = 0; i < exact.finite(); ++i) {
    const double low = static_cast<double>(exact.value(i));
    const double high = static_cast<double>(i + 1 < exact.finite() ? exact.value(i + 1) : exact.beyond());
    for (const double x : {low, (low + high) / 2}) {
      xs.push_back(x);
      xs.push_back(std::nextafter(x, HUGE_VAL));
      if (x > 0) xs.push_back(std::nextafter(x, 0));
    }
  }
  xs.push_back(static_cast<double>(exact.beyond()));
  const int low = std::ilogb(static_cast<double>(exact.value(1))) - 3;
  const int high = std::ilogb(static_cast<double>(exact.beyond())) + 2;
  std::uint64_t random = 1;
  for (int i = 0; i < 20000; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    const double significand = 1 + static_cast<double>(random >> 12) * 0x1p-52;
    xs.push_back(std::ldexp(significand, low + i % (high - low)));
  }
  const std::size_t positive = xs.size();
  for (std::size_t i = 0; i < positive; ++i) xs.push_back(-xs[i]);
  return xs;
}

TEST_CASE("every code of up to 16 bits comes back") {
  for (const known_format& f : known_formats) {
    if (f.bits > 16) continue;
    CAPTURE(std::string(numdiff::name_of(f.type)));
    const oracle exact(f);
    long wrong = 0;
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << f.bits); ++code) {
      if (exact.is_nan(code)) continue;
      wrong += encode(f.type, numdiff::decode(f.type, code),
                      {rounding::nearest_even, overflow::to_infinity}) != code;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("values, midpoints and their neighbours round as the oracle says") {
  for (const known_format& f : known_formats) {
    if (f.bits > 16) continue;
    CAPTURE(std::string(numdiff::name_of(f.type)));
    const oracle exact(f);
    const std::vector<double> xs = inputs(exact);
    for (const rounding mode : directed) {
      for (const bool saturate : {true, false}) {
        const numdiff::cast_rule rule{mode, saturate ? overflow::to_maximum : overflow::to_infinity};
        long wrong = 0;
        double first = 0;
        for (const double x : xs) {
          const std::uint64_t expected = exact.encode(x, mode, saturate);
          bool ok = encode(f.type, x, rule) == expected;
          const float narrow = static_cast<float>(x);
          if (static_cast<double>(narrow) == x) ok = ok && encode(f.type, narrow, rule) == expected;
          if (!ok && wrong++ == 0) first = x;
        }
        CAPTURE(first);
        CAPTURE(static_cast<int>(mode));
        CAPTURE(saturate);
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("stochastic rounding goes up with the probability of the distance") {
  for (const known_format& f : known_formats) {
    if (f.bits > 8) continue;
    CAPTURE(std::string(numdiff::name_of(f.type)));
    const oracle exact(f);
    long wrong = 0;
    std::uint64_t random = 1;
    for (const double x : inputs(exact)) {
      for (int i = 0; i < 8; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        const std::uint64_t bits = i == 0 ? 0 : i == 1 ? ~std::uint64_t{0} : random;
        wrong += encode(f.type, x, {rounding::stochastic, overflow::to_maximum}, bits) !=
                 exact.encode(x, rounding::stochastic, true, bits);
      }
    }
    CHECK(wrong == 0);
  }
  int up = 0;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const std::uint64_t spread = (2 * i + 1) * (~std::uint64_t{0} / 2000);
    up += encode(dtype::f8e4m3fn, 1.0 + 0.125 * 0.3, {rounding::stochastic}, spread) == 0x39;
  }
  CHECK(up == 300);
}

// 2^19 codes of tf32, and f32 against the machine's own conversion.
TEST_CASE("tf32 and f32 round once from double") {
  const known_format* tf32 = nullptr;
  for (const known_format& f : known_formats) {
    if (f.type == dtype::tf32) tf32 = &f;
  }
  REQUIRE(tf32 != nullptr);
  const oracle exact(*tf32);
  long wrong = 0;
  const std::vector<double> xs = inputs(exact);
  for (std::size_t i = 0; i < xs.size(); i += 7) {
    wrong += encode(dtype::tf32, xs[i]) != exact.encode(xs[i], rounding::nearest_even, false) << 13;
  }
  CHECK(wrong == 0);
  std::uint64_t bits = 1;
  for (int i = 0; i < 2000000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    std::uint64_t mixed = bits ^ (bits >> 31);
    if (i % 2)
      mixed = (mixed & ~(std::uint64_t{0x7ff} << 52)) | ((860 + mixed % 340) << 52);  // around f32's range
    if (i % 4 == 3) mixed = (mixed & ~std::uint64_t{0x1fffffff}) | (std::uint64_t{1} << 28);  // ties
    const double x = numdiff::detail::double_of(mixed);
    if (std::isnan(x)) continue;
    wrong += encode(dtype::f32, x) != numdiff::detail::bits_of(static_cast<float>(x));
    wrong += encode(dtype::f64, x) != mixed;
    const float narrow = static_cast<float>(x);
    wrong += encode(dtype::f64, narrow) != numdiff::detail::bits_of(static_cast<double>(narrow));
    wrong += encode(dtype::f32, narrow) != numdiff::detail::bits_of(narrow);
  }
  CHECK(wrong == 0);
}

TEST_CASE("hand values of the CUDA casts") {
  const numdiff::cast_rule sat{rounding::nearest_even, overflow::to_maximum};
  const numdiff::cast_rule open{rounding::nearest_even, overflow::to_infinity};
  CHECK(encode(dtype::f8e4m3fn, 464.0, open) == 0x7e);
  CHECK(encode(dtype::f8e4m3fn, 465.0, open) == 0x7f);
  CHECK(encode(dtype::f8e4m3fn, 465.0, sat) == 0x7e);
  CHECK(encode(dtype::f8e4m3fn, -HUGE_VAL, sat) == 0xfe);
  CHECK(encode(dtype::f8e4m3fn, -HUGE_VAL, open) == 0xff);
  CHECK(encode(dtype::f8e4m3fn, -std::nan(""), sat) == 0x7f);
  CHECK(encode(dtype::f8e4m3fn, 0x1p-10, sat) == 0);
  CHECK(encode(dtype::f8e4m3fn, -0x1p-10, sat) == 0x80);
  CHECK(encode(dtype::f8e5m2, 61440.0, open) == 0x7c);
  CHECK(encode(dtype::f8e5m2, 61439.0, open) == 0x7b);
  CHECK(encode(dtype::f8e5m2, 61440.0, sat) == 0x7b);
  CHECK(encode(dtype::f8e5m2, std::nan(""), sat) == 0x7f);
  CHECK(encode(dtype::f16, 65519.0) == 0x7bff);
  CHECK(encode(dtype::f16, 65520.0) == 0x7c00);
  CHECK(encode(dtype::f16, 0x1p-25) == 0);
  CHECK(encode(dtype::f16, 2.99e-8) == 1);
  CHECK(encode(dtype::f4e2m1fn, std::nan(""), open) == 0x7);
  CHECK(encode(dtype::f6e2m3fn, -std::nan(""), open) == 0x1f);
  CHECK(encode(dtype::f6e3m2fn, -HUGE_VAL, open) == 0x3f);
  CHECK(encode(dtype::f8e4m3fnuz, -1e-30, sat) == 0);
  CHECK(encode(dtype::f8e4m3fnuz, 248.0, open) == 0x80);
  CHECK(encode(dtype::f8e4m3fnuz, std::nan(""), sat) == 0x80);
  CHECK(encode(dtype::f8e4m3fn, 1.0625 + 0x1p-12) ==
        encode(dtype::f8e4m3fn, 1.125));  // by way of bf16 it is 1
  const double ties[] = {.25, .75, 1.25, 1.75, 2.5, 3.5, 5.0};
  const double to[] = {0, 1, 1, 2, 2, 4, 4};
  for (int i = 0; i < 7; ++i) {
    CHECK(numdiff::decode(dtype::f4e2m1fn, encode(dtype::f4e2m1fn, ties[i])) == to[i]);
  }
}

TEST_CASE("usual overflow: narrow formats saturate, wide ones do not") {
  CHECK(encode(dtype::f8e5m2, 1e9) == 0x7b);
  CHECK(encode(dtype::f8e5m2, HUGE_VAL) == 0x7b);
  CHECK(encode(dtype::e5m6, 1e9) == 0x7c0);
  CHECK(encode(dtype::bf16, 1e39) == 0x7f80);
  CHECK(encode(dtype::bf16, 1e39, {rounding::toward_zero}) == 0x7f7f);
  CHECK(encode(dtype::bf16, HUGE_VAL, {rounding::toward_zero}) == 0x7f80);
}

TEST_CASE("E8M0: floor and ceiling, and what has no code") {
  const numdiff::cast_rule down{rounding::toward_zero, overflow::to_maximum};
  const numdiff::cast_rule up{rounding::up, overflow::to_maximum};
  CHECK(encode(dtype::f8e8m0fnu, 1.0, down) == 127);
  CHECK(encode(dtype::f8e8m0fnu, 1.99, down) == 127);
  CHECK(encode(dtype::f8e8m0fnu, 1.01, up) == 128);
  CHECK(encode(dtype::f8e8m0fnu, -1.01, up) == 128);
  CHECK(encode(dtype::f8e8m0fnu, 0.0, up) == 0);
  CHECK(encode(dtype::f8e8m0fnu, 1e-45f, up) == 0);
  CHECK(encode(dtype::f8e8m0fnu, 6e-39f, up) == 1);
  CHECK(encode(dtype::f8e8m0fnu, 3.4e38, up) == 0xfe);
  CHECK(encode(dtype::f8e8m0fnu, 3.4e38, {rounding::up, overflow::to_infinity}) == 0xff);
  CHECK(encode(dtype::f8e8m0fnu, HUGE_VAL, up) == 0xfe);
  CHECK(encode(dtype::f8e8m0fnu, std::nan(""), up) == 0xff);
}

TEST_CASE("integers round, saturate and take NaN to 0") {
  CHECK(encode(dtype::i8, 2.5) == 2);
  CHECK(encode(dtype::i8, -3.5) == 0xfc);
  CHECK(encode(dtype::i8, -0.5, {rounding::up}) == 0);
  CHECK(encode(dtype::i8, 0.01, {rounding::up}) == 1);
  CHECK(encode(dtype::i8, -2.9, {rounding::toward_zero}) == 0xfe);
  CHECK(encode(dtype::i8, 0.125, {rounding::stochastic}, 0x1000000000000000) == 1);  // P(up) = 1/8
  CHECK(encode(dtype::i8, 0.125, {rounding::stochastic}, 0x2000000000000000) == 0);
  CHECK(encode(dtype::i8, 1e9) == 0x7f);
  CHECK(encode(dtype::i8, -HUGE_VAL) == 0x80);
  CHECK(encode(dtype::i4, -100.0f) == 0x8);
  CHECK(encode(dtype::u8, -1.0) == 0);
  CHECK(encode(dtype::u8, 255.5) == 255);
  CHECK(encode(dtype::mxint8, -5.0) == 0x81);
  CHECK(encode(dtype::mxint8, 1.5 / 64) == 2);
  CHECK(encode(dtype::i64, 0x1p63) == 0x7fffffffffffffff);
  CHECK(encode(dtype::i64, -0x1p63) == std::uint64_t{1} << 63);
  CHECK(encode(dtype::u64, 0x1.8p63) == 0xc000000000000000);
  CHECK(encode(dtype::u64, 1e30) == ~std::uint64_t{0});
  CHECK(encode(dtype::i32, std::nan("")) == 0);
  CHECK(encode(dtype::boolean, 0.25f) == 1);
  CHECK(encode(dtype::boolean, -0.0) == 0);
  long wrong = 0;
  for (double x = -40000; x < 40000; x += 0.125) {
    const double clamped = std::fmin(std::fmax(std::nearbyint(x), -32768), 32767);
    wrong += numdiff::decode(dtype::i16, encode(dtype::i16, x)) != clamped;
  }
  CHECK(wrong == 0);
}

}  // namespace
