#include "numdiff/classify.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "values/oracle.hpp"

namespace {

using numdiff::classify;
using numdiff::dtype;
using numdiff::number_class;
using numdiff::octave;
using numdiff::test::known_format;
using numdiff::test::known_formats;

static_assert(classify(dtype::f16, 0x8000) == number_class::negative_zero);
static_assert(octave(dtype::f16, 1) == -24);

// From the value, where the library looks at bits.
number_class expected_class(const known_format& f, double x) {
  const bool negative = std::signbit(x);
  if (std::isnan(x)) return number_class::nan;
  if (std::isinf(x)) return negative ? number_class::minus_infinity : number_class::plus_infinity;
  if (x == 0) return negative ? number_class::negative_zero : number_class::zero;
  if (std::fabs(x) == f.max_finite)
    return negative ? number_class::minus_maximum : number_class::plus_maximum;
  return std::fabs(x) < std::ldexp(1.0, f.min_normal) ? number_class::subnormal : number_class::normal;
}

TEST_CASE("class and octave of every code of up to 16 bits, and of samples of the others") {
  for (const known_format& f : known_formats) {
    CAPTURE(std::string(numdiff::name_of(f.type)));
    long wrong = 0;
    const int padding = f.type == dtype::tf32 ? 13 : 0;
    const std::uint64_t step = f.bits > 16 ? (std::uint64_t{1} << (f.bits - 16)) + 1 : 1;
    for (std::uint64_t i = 0; i < 65536; ++i) {
      const std::uint64_t code = i * step << padding;
      if (f.bits < 16 && i >> f.bits) break;
      const double x = numdiff::decode(f.type, code);
      wrong += classify(f.type, code) != expected_class(f, x);
      const int expected = std::isfinite(x) && x != 0 ? std::ilogb(x) : numdiff::no_octave;
      wrong += octave(f.type, code) != expected;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("integers, fixed point, booleans") {
  for (const dtype t : {dtype::i4, dtype::i8, dtype::i16, dtype::mxint8}) {
    CAPTURE(std::string(numdiff::name_of(t)));
    const int bits = numdiff::format_of(t).bits;
    const int max = (1 << (bits - 1)) - 1;
    const double unit = t == dtype::mxint8 ? 1.0 / 64 : 1;
    for (int i = -max - 1; i <= max; ++i) {
      const std::uint64_t code = static_cast<std::uint64_t>(i) & ((std::uint64_t{1} << bits) - 1);
      const number_class expected = i == 0      ? number_class::zero
                                    : i == max  ? number_class::plus_maximum
                                    : i <= -max ? number_class::minus_maximum
                                                : number_class::normal;
      REQUIRE((classify(t, code) == expected));
      REQUIRE(octave(t, code) == (i == 0 ? numdiff::no_octave : std::ilogb(i * unit)));
    }
  }
  CHECK((classify(dtype::u8, 255) == number_class::plus_maximum));
  CHECK((classify(dtype::u8, 128) == number_class::normal));
  CHECK((classify(dtype::i64, std::uint64_t{1} << 63) == number_class::minus_maximum));
  CHECK((classify(dtype::u64, std::uint64_t{1} << 63) == number_class::normal));
  CHECK(octave(dtype::u64, ~std::uint64_t{0}) == 63);
  CHECK(octave(dtype::i64, std::uint64_t{1} << 63) == 63);
  CHECK((classify(dtype::boolean, 0) == number_class::zero));
  CHECK((classify(dtype::boolean, 2) == number_class::normal));
  CHECK((classify(dtype::unknown, 2) == number_class::nan));
}

}  // namespace
