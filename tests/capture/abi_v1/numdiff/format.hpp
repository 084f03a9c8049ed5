#pragma once
// What the bits of each dtype mean.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/dtype.hpp"

namespace numdiff {
inline namespace v1 {

enum class number_kind : std::uint8_t { none, boolean, integer, floating };

// Which codes are NaN.
enum class nan_codes : std::uint8_t {
  none,
  ieee,           // exponent all ones, mantissa not zero
  all_ones,       // exponent and mantissa all ones
  negative_zero,  // the code that would be -0
};

// A code is the low `bits` bits of a word after dropping `padding` low bits. A float is sign, exponent,
// mantissa from the top; an integer is in two's complement and counts steps of 2^-mantissa_bits.
// A code of a complex dtype is one of its parts.
struct format {
  dtype type;
  number_kind kind;
  std::uint8_t bits;
  std::uint8_t exponent_bits;
  std::uint8_t mantissa_bits;
  std::int16_t bias;
  nan_codes nan;
  bool is_signed;
  bool has_infinity;
  bool has_zero;
  bool has_signed_zero;
  std::uint8_t padding;

  NUMDIFF_HD constexpr bool is_float() const noexcept { return kind == number_kind::floating; }
  // Significand bits, the hidden one included; unit roundoff is 2^-precision.
  NUMDIFF_HD constexpr int precision() const noexcept { return mantissa_bits + 1; }
  // Every code with the sign bit cleared lies in [0, magnitude_mask()].
  NUMDIFF_HD constexpr std::uint64_t magnitude_mask() const noexcept {
    return detail::low_mask(bits - (is_signed ? 1 : 0));
  }
  NUMDIFF_HD constexpr std::uint64_t sign_bit() const noexcept {
    return is_signed ? std::uint64_t{1} << (bits - 1) : 0;
  }
  // Floats: magnitude of +infinity; also where it would be.
  NUMDIFF_HD constexpr std::uint64_t infinity_code() const noexcept {
    return detail::low_mask(exponent_bits) << mantissa_bits;
  }
  // Magnitude of the largest finite value.
  NUMDIFF_HD constexpr std::uint64_t max_code() const noexcept {
    return nan == nan_codes::ieee       ? infinity_code() - 1
           : nan == nan_codes::all_ones ? magnitude_mask() - 1
                                        : magnitude_mask();
  }
  // Exponent of the smallest normal value; floats only.
  NUMDIFF_HD constexpr int min_exponent() const noexcept { return has_zero ? 1 - bias : -bias; }
  NUMDIFF_HD constexpr int max_exponent() const noexcept {
    return static_cast<int>(max_code() >> mantissa_bits) - bias;
  }
  // Largest finite value; 2^64 for u64 and 2^63 for i64, which double cannot hold exactly.
  NUMDIFF_HD constexpr double max_finite() const noexcept {
    if (kind == number_kind::boolean) return 1;
    if (kind == number_kind::integer) {
      return static_cast<double>(magnitude_mask()) * detail::power_of_two(-mantissa_bits);
    }
    if (kind == number_kind::none) return 0;
    const std::uint64_t significand =
        (std::uint64_t{1} << mantissa_bits) | (max_code() & detail::low_mask(mantissa_bits));
    return detail::double_of(detail::scaled_integer_bits(significand, max_exponent() - mantissa_bits));
  }
  NUMDIFF_HD constexpr double min_normal() const noexcept {
    return is_float() ? detail::power_of_two(min_exponent()) : detail::power_of_two(-mantissa_bits);
  }
  // Smallest positive value: the smallest normal one where there are no subnormals.
  NUMDIFF_HD constexpr double min_subnormal() const noexcept {
    return is_float() && has_zero ? detail::power_of_two(min_exponent() - mantissa_bits) : min_normal();
  }
};

namespace detail {

NUMDIFF_HD constexpr format ieee_format(dtype t, int exponent_bits, int mantissa_bits,
                                        int padding = 0) noexcept {
  return {t,
          number_kind::floating,
          static_cast<std::uint8_t>(1 + exponent_bits + mantissa_bits),
          static_cast<std::uint8_t>(exponent_bits),
          static_cast<std::uint8_t>(mantissa_bits),
          static_cast<std::int16_t>((1 << (exponent_bits - 1)) - 1),
          nan_codes::ieee,
          true,
          true,
          true,
          true,
          static_cast<std::uint8_t>(padding)};
}

NUMDIFF_HD constexpr format finite_format(dtype t, int exponent_bits, int mantissa_bits, int bias,
                                          nan_codes nan, bool is_signed = true,
                                          bool has_zero = true) noexcept {
  return {t,
          number_kind::floating,
          static_cast<std::uint8_t>((is_signed ? 1 : 0) + exponent_bits + mantissa_bits),
          static_cast<std::uint8_t>(exponent_bits),
          static_cast<std::uint8_t>(mantissa_bits),
          static_cast<std::int16_t>(bias),
          nan,
          is_signed,
          false,
          has_zero,
          is_signed && nan != nan_codes::negative_zero,
          0};
}

NUMDIFF_HD constexpr format integer_format(dtype t, int bits, bool is_signed,
                                           int fraction_bits = 0) noexcept {
  return {t,
          bits == 1 ? number_kind::boolean : number_kind::integer,
          static_cast<std::uint8_t>(bits),
          0,
          static_cast<std::uint8_t>(fraction_bits),
          0,
          nan_codes::none,
          is_signed,
          false,
          true,
          false,
          0};
}

}  // namespace detail

// kind is none for unknown dtypes.
NUMDIFF_HD constexpr format format_of(dtype t) noexcept {
  using detail::finite_format;
  using detail::ieee_format;
  using detail::integer_format;
  switch (t) {
    case dtype::boolean: return integer_format(t, 1, false);
    case dtype::i4: return integer_format(t, 4, true);
    case dtype::u4: return integer_format(t, 4, false);
    case dtype::i8: return integer_format(t, 8, true);
    case dtype::u8: return integer_format(t, 8, false);
    case dtype::i16: return integer_format(t, 16, true);
    case dtype::u16: return integer_format(t, 16, false);
    case dtype::i32: return integer_format(t, 32, true);
    case dtype::u32: return integer_format(t, 32, false);
    case dtype::i64: return integer_format(t, 64, true);
    case dtype::u64: return integer_format(t, 64, false);
    case dtype::f64:
    case dtype::c128: return ieee_format(t, 11, 52);
    case dtype::f32:
    case dtype::c64: return ieee_format(t, 8, 23);
    case dtype::tf32: return ieee_format(t, 8, 10, 13);
    case dtype::bf16: return ieee_format(t, 8, 7);
    case dtype::f16: return ieee_format(t, 5, 10);
    case dtype::f8e4m3fn: return finite_format(t, 4, 3, 7, nan_codes::all_ones);
    case dtype::f8e5m2: return ieee_format(t, 5, 2);
    case dtype::f8e4m3fnuz: return finite_format(t, 4, 3, 8, nan_codes::negative_zero);
    case dtype::f8e5m2fnuz: return finite_format(t, 5, 2, 16, nan_codes::negative_zero);
    case dtype::f8e4m3: return ieee_format(t, 4, 3);
    case dtype::f8e4m3b11fnuz: return finite_format(t, 4, 3, 11, nan_codes::negative_zero);
    case dtype::f8e3m4: return ieee_format(t, 3, 4);
    case dtype::f6e2m3fn: return finite_format(t, 2, 3, 1, nan_codes::none);
    case dtype::f6e3m2fn: return finite_format(t, 3, 2, 3, nan_codes::none);
    case dtype::f4e2m1fn: return finite_format(t, 2, 1, 1, nan_codes::none);
    case dtype::f8e8m0fnu: return finite_format(t, 8, 0, 127, nan_codes::all_ones, false, false);
    case dtype::ue4m3: return finite_format(t, 4, 3, 7, nan_codes::all_ones, false);
    case dtype::mxint8: return integer_format(t, 8, true, 6);
    case dtype::e5m6: return ieee_format(t, 5, 6);  // bias and specials by IEEE's pattern
    case dtype::unknown: break;
  }
  return {};
}

}  // namespace v1
}  // namespace numdiff
