#include "numdiff/decode.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "values/oracle.hpp"

namespace {

using numdiff::decode;
using numdiff::decode_as;
using numdiff::dtype;
using numdiff::test::known_format;
using numdiff::test::known_formats;
using numdiff::test::oracle;

static_assert(decode(dtype::bf16, 0x3f80) == 1);
static_assert(decode_as<dtype::f8e4m3fn>(0x7e) == 448);
static_assert(decode(dtype::i8, 0x80) == -128);

// NaN-safe equality that tells the zeros apart.
bool same(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b && std::signbit(a) == std::signbit(b);
}

TEST_CASE("every code of the formats of up to 16 bits has its value") {
  for (const known_format& f : known_formats) {
    if (f.bits > 16) continue;
    CAPTURE(std::string(numdiff::name_of(f.type)));
    const oracle exact(f);
    long wrong = 0;
    for (std::uint64_t code = 0; code < (std::uint64_t{1} << f.bits); ++code) {
      const std::uint64_t magnitude = code % exact.magnitudes();
      double expected = std::numeric_limits<double>::quiet_NaN();
      if (exact.is_infinity(code)) {
        expected = std::numeric_limits<double>::infinity();
      } else if (!exact.is_nan(code)) {
        expected = static_cast<double>(exact.value(magnitude));
      }
      if (code >= exact.magnitudes() && !std::isnan(expected)) expected = -expected;
      wrong += !same(decode(f.type, code), expected);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("bits outside the code are ignored") {
  CHECK(decode(dtype::f4e2m1fn, 0xf7) == 6);
  CHECK(decode(dtype::f6e2m3fn, 0xdf) == 7.5);
  CHECK(decode(dtype::ue4m3, 0xfe) == 448);
  CHECK(decode(dtype::i4, 0xf9) == -7);
  CHECK(decode(dtype::u4, 0xf9) == 9);
  CHECK(decode(dtype::tf32, 0x3f801fff) == 1);
  CHECK(decode(dtype::e5m6, 0xf3c0) == 1);
}

TEST_CASE("f32 and f64 are the machine's") {
  for (const float x : {0.0f, -0.0f, 1.0f, -3.1f, 1e-45f, -1e-40f, 3.4e38f, HUGE_VALF, -HUGE_VALF, NAN}) {
    CHECK(same(decode(dtype::f32, numdiff::detail::bits_of(x)), static_cast<double>(x)));
    CHECK(same(decode(dtype::c64, numdiff::detail::bits_of(x)), static_cast<double>(x)));
  }
  for (const double x : {0.0, -0.0, 1.0, 5e-324, 1e-310, 1.7e308, HUGE_VAL, -HUGE_VAL, std::nan("")}) {
    CHECK(same(decode(dtype::f64, numdiff::detail::bits_of(x)), x));
    CHECK(same(decode(dtype::c128, numdiff::detail::bits_of(x)), x));
  }
}

TEST_CASE("integers, booleans and fixed point") {
  for (int i = -128; i < 128; ++i) {
    const std::uint64_t code = static_cast<std::uint64_t>(i) & 0xff;
    CHECK(decode(dtype::i8, code) == i);
    CHECK(decode(dtype::u8, code) == (i & 0xff));
    CHECK(decode(dtype::mxint8, code) == i / 64.0);
    CHECK(decode(dtype::boolean, code) == (i != 0));
  }
  CHECK(decode(dtype::i16, 0x8000) == -32768);
  CHECK(decode(dtype::u32, 0xffffffff) == 4294967295.0);
  CHECK(decode(dtype::i64, std::uint64_t{1} << 63) == -0x1p63);
  CHECK(decode(dtype::i64, 0x7fffffffffffffff) == 0x1p63);
  CHECK(decode(dtype::u64, ~std::uint64_t{0}) == 0x1p64);
  CHECK(decode(dtype::u64, (std::uint64_t{1} << 53) + 1) == 0x1p53);  // the tie goes to even
  CHECK(decode(dtype::u64, (std::uint64_t{1} << 53) + 3) == 0x1p53 + 4);
  CHECK(std::isnan(decode(dtype::unknown, 1)));
}

}  // namespace
