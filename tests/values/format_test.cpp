#include "numdiff/format.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "values/known_formats.hpp"

namespace {

using numdiff::dtype;
using numdiff::format_of;
using numdiff::test::known_format;
using numdiff::test::known_formats;

TEST_CASE("the descriptors are the published ones") {
  for (const known_format& r : known_formats) {
    CAPTURE(std::string(numdiff::name_of(r.type)));
    const numdiff::format f = format_of(r.type);
    CHECK(f.type == r.type);
    CHECK(f.is_float());
    CHECK(f.bits == r.bits);
    CHECK(f.exponent_bits == r.exponent_bits);
    CHECK(f.mantissa_bits == r.mantissa_bits);
    CHECK(f.bias == r.bias);
    CHECK(f.max_finite() == r.max_finite);
    CHECK(f.min_normal() == std::ldexp(1.0, r.min_normal));
    CHECK(f.min_subnormal() == std::ldexp(1.0, r.min_subnormal));
    CHECK(f.has_infinity == r.has_infinity);
    CHECK(f.nan == r.nan);
    CHECK(f.has_signed_zero == r.has_signed_zero);
    CHECK(f.bits + f.padding <= 8 * static_cast<int>(numdiff::bytes_of(r.type)));
  }
}

TEST_CASE("every dtype has a descriptor, and integers their limits") {
  for (std::uint16_t i = 1; i < numdiff::dtype_count; ++i) {
    const dtype t = static_cast<dtype>(i);
    CAPTURE(std::string(numdiff::name_of(t)));
    CHECK((format_of(t).kind != numdiff::number_kind::none));
    CHECK(format_of(t).is_float() == (numdiff::is_float(t) || numdiff::is_complex(t)));
  }
  CHECK((format_of(dtype::unknown).kind == numdiff::number_kind::none));
  CHECK((format_of(static_cast<dtype>(999)).kind == numdiff::number_kind::none));
  CHECK(format_of(dtype::i4).max_finite() == 7);
  CHECK(format_of(dtype::u8).max_finite() == 255);
  CHECK(format_of(dtype::i32).max_finite() == 2147483647);
  CHECK(format_of(dtype::mxint8).max_finite() == 1 + 63.0 / 64);
  CHECK(format_of(dtype::mxint8).min_subnormal() == std::ldexp(1.0, -6));
}

}  // namespace
