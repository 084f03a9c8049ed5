#pragma once
// Value to code: one exact rounding from double or float to any format.
#include <cstdint>
#include <type_traits>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/format.hpp"
#include "numdiff/rounding.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// The NaN that casts produce: positive and all ones, or the only one there is; the maximum without NaN.
NUMDIFF_HD constexpr std::uint64_t canonical_nan(const format& f) noexcept {
  return f.nan == nan_codes::negative_zero ? f.sign_bit() : f.magnitude_mask();
}

// Magnitude code of a finite magnitude, not bounded by the format's maximum. The format is no finer than
// the source and has subnormals.
template <class Word>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr Word round_magnitude(Word magnitude, bool negative,
                                                                const format& f, rounding mode,
                                                                std::uint64_t random) noexcept {
  constexpr int mantissa = binary_layout<Word>::mantissa;
  const int field = static_cast<int>(magnitude >> mantissa);
  const int exponent = (field > 0 ? field : 1) - binary_layout<Word>::bias;
  const Word significand = static_cast<Word>((magnitude & ((Word{1} << mantissa) - 1)) |
                                             (static_cast<Word>(field > 0) << mantissa));
  const int above = exponent - f.min_exponent();
  int shift = mantissa - f.mantissa_bits + (above < 0 ? -above : 0);
  if (shift > binary_layout<Word>::width - 1) shift = binary_layout<Word>::width - 1;
  const Word kept = static_cast<Word>(significand >> shift);
  const Word rest = static_cast<Word>(significand & ((Word{1} << shift) - 1));
  const Word code = static_cast<Word>((above > 0 ? static_cast<Word>(above) << f.mantissa_bits : 0) + kept);
  return static_cast<Word>(code + rounds_up(mode, rest, shift, code & 1, negative, random));
}

// The same for a format of powers of two (no zero, no subnormals); nearest ties go to the even code.
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t round_power_of_two(std::uint64_t magnitude,
                                                                            const format& f, rounding mode,
                                                                            std::uint64_t random) noexcept {
  const int above = static_cast<int>(magnitude >> 52) - 1023 - f.min_exponent();
  if (above < 0) return 0;
  const std::uint64_t code = static_cast<std::uint64_t>(above);
  return code + rounds_up(mode, magnitude & low_mask(52), 52, code & 1, false, random);
}

template <class Word>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t encode_float(Word bits, const format& f,
                                                                      rounding mode, overflow past,
                                                                      std::uint64_t random) noexcept {
  const bool negative = f.is_signed && (bits & sign_mask<Word>());
  const Word magnitude = static_cast<Word>(bits & (sign_mask<Word>() - 1));
  if (magnitude > infinity_bits<Word>()) return canonical_nan(f) << f.padding;
  const bool infinite = magnitude == infinity_bits<Word>();
  std::uint64_t code = infinite ? f.max_code() + 1 : round_magnitude(magnitude, negative, f, mode, random);
  if (code > f.max_code()) {
    const bool stays_finite = mode == rounding::toward_zero || (mode == rounding::up && negative);
    if (saturates(f, past) || f.nan == nan_codes::none || (stays_finite && !infinite)) {
      code = f.max_code();
    } else if (f.has_infinity) {
      code = f.infinity_code();
    } else {
      code = canonical_nan(f);
    }
  }
  if (negative && (code != 0 || f.has_signed_zero)) code |= f.sign_bit();
  return code << f.padding;
}

NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t encode_power_of_two(std::uint64_t bits,
                                                                             const format& f, rounding mode,
                                                                             overflow past,
                                                                             std::uint64_t random) noexcept {
  const std::uint64_t magnitude = bits & (sign_mask<std::uint64_t>() - 1);
  const std::uint64_t infinity = infinity_bits<std::uint64_t>();
  if (magnitude > infinity) return canonical_nan(f);
  const std::uint64_t code =
      magnitude == infinity ? f.max_code() + 1 : round_power_of_two(magnitude, f, mode, random);
  if (code <= f.max_code()) return code;
  const bool stays_finite = mode == rounding::toward_zero && magnitude != infinity;
  return saturates(f, past) || stays_finite ? f.max_code() : canonical_nan(f);
}

// Largest magnitudes of an integer format; mxint8 is used symmetrically (OCP MX 1.0).
NUMDIFF_HD constexpr std::uint64_t integer_limit(const format& f, bool negative) noexcept {
  if (!negative) return f.magnitude_mask();
  return f.is_signed ? f.magnitude_mask() + (f.mantissa_bits == 0 ? 1 : 0) : 0;
}

NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t encode_integer(std::uint64_t bits, const format& f,
                                                                        rounding mode,
                                                                        std::uint64_t random) noexcept {
  const bool negative = bits & sign_mask<std::uint64_t>();
  const std::uint64_t magnitude = bits & (sign_mask<std::uint64_t>() - 1);
  if (magnitude > infinity_bits<std::uint64_t>() || magnitude < (std::uint64_t{1} << 52)) return 0;
  const int exponent = static_cast<int>(magnitude >> 52) - 1023 + f.mantissa_bits;
  const std::uint64_t significand = (magnitude & low_mask(52)) | (std::uint64_t{1} << 52);
  std::uint64_t integer = ~std::uint64_t{0};
  if (exponent <= 52) {
    const int shift = exponent < -11 ? 63 : 52 - exponent;
    integer = significand >> shift;
    integer += rounds_up(mode, significand & low_mask(shift), shift, integer & 1, negative, random);
  } else if (exponent <= 63) {
    integer = significand << (exponent - 52);
  }
  const std::uint64_t limit = integer_limit(f, negative);
  if (integer > limit) integer = limit;
  return (negative ? ~integer + 1 : integer) & low_mask(f.bits);
}

// From float bits (std::uint32_t) or double bits (std::uint64_t).
template <class Word>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t encode_bits(Word bits, const format& f,
                                                                     rounding mode, overflow past,
                                                                     std::uint64_t random) noexcept {
  if constexpr (std::is_same_v<Word, std::uint32_t>) {
    if (f.is_float() && f.has_zero && f.mantissa_bits <= 23) return encode_float(bits, f, mode, past, random);
    return encode_bits(widen(bits), f, mode, past, random);
  } else {
    switch (f.kind) {
      case number_kind::floating:
        if (!f.has_zero) return encode_power_of_two(bits, f, mode, past, random);
        return encode_float(bits, f, mode, past, random);
      case number_kind::integer: return encode_integer(bits, f, mode, random);
      case number_kind::boolean: return (bits & (sign_mask<std::uint64_t>() - 1)) ? 1 : 0;
      case number_kind::none: break;
    }
    return 0;
  }
}

}  // namespace detail

// The code of x, rounded once. NaN becomes the format's canonical NaN (sign dropped), the maximum in
// formats without NaN (as CUDA does) and 0 in integers. Integers always saturate. Unsigned floats take
// the magnitude, f8e8m0fnu gives its smallest code for 0. toward_zero and up keep finite values finite as
// IEEE 754 has it. `random`: 64 uniform bits, used by stochastic rounding only.
NUMDIFF_HD constexpr std::uint64_t encode(dtype t, double x, cast_rule rule = {},
                                          std::uint64_t random = 0) noexcept {
  return detail::encode_bits(detail::bits_of(x), format_of(t), rule.round, rule.past, random);
}
NUMDIFF_HD constexpr std::uint64_t encode(dtype t, float x, cast_rule rule = {},
                                          std::uint64_t random = 0) noexcept {
  return detail::encode_bits(detail::bits_of(x), format_of(t), rule.round, rule.past, random);
}

template <dtype T>
NUMDIFF_HD constexpr std::uint64_t encode_as(double x, cast_rule rule = {},
                                             std::uint64_t random = 0) noexcept {
  constexpr format f = format_of(T);
  return detail::encode_bits(detail::bits_of(x), f, rule.round, rule.past, random);
}
template <dtype T>
NUMDIFF_HD constexpr std::uint64_t encode_as(float x, cast_rule rule = {},
                                             std::uint64_t random = 0) noexcept {
  constexpr format f = format_of(T);
  return detail::encode_bits(detail::bits_of(x), f, rule.round, rule.past, random);
}

}  // namespace v1
}  // namespace numdiff
