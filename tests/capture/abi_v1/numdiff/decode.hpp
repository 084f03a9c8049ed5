#pragma once
// Code to value.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/format.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr std::uint64_t quiet_nan_bits = 0x7ff8000000000000u;

// The code without padding and unused high bits.
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t trimmed(const format& f,
                                                                 std::uint64_t code) noexcept {
  return (code >> f.padding) & low_mask(f.bits);
}

NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr bool is_nan_code(const format& f,
                                                            std::uint64_t trimmed_code) noexcept {
  const std::uint64_t magnitude = trimmed_code & f.magnitude_mask();
  switch (f.nan) {
    case nan_codes::none: return false;
    case nan_codes::ieee: return magnitude > f.infinity_code();
    case nan_codes::all_ones: return magnitude == f.magnitude_mask();
    case nan_codes::negative_zero: return trimmed_code == f.sign_bit();
  }
  return false;
}

NUMDIFF_HD constexpr std::int64_t signed_integer(const format& f, std::uint64_t trimmed_code) noexcept {
  const std::uint64_t extended =
      f.is_signed && (trimmed_code & f.sign_bit()) ? trimmed_code | ~low_mask(f.bits) : trimmed_code;
  return static_cast<std::int64_t>(extended);
}

// Bits of the value as double, or as float for formats whose values are all normal floats.
template <class Word = std::uint64_t>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr Word decode_float_bits(const format& f,
                                                                  std::uint64_t trimmed_code) noexcept {
  using layout = binary_layout<Word>;
  if (f.exponent_bits == 11) return static_cast<Word>(trimmed_code);
  const Word magnitude = static_cast<Word>(trimmed_code & f.magnitude_mask());
  const Word sign = (trimmed_code & f.sign_bit()) ? sign_mask<Word>() : 0;
  // selects, not branches: loops over codes vectorise
  const Word rebias = static_cast<Word>(Word{layout::bias} - static_cast<Word>(f.bias)) << layout::mantissa;
  Word value = static_cast<Word>((magnitude << (layout::mantissa - f.mantissa_bits)) + rebias);
  if (f.has_zero) {
    const Word subnormal = scaled_integer_bits<Word>(magnitude, f.min_exponent() - f.mantissa_bits);
    value = magnitude >> f.mantissa_bits == 0 ? subnormal : value;
  }
  if (f.has_infinity) value = magnitude == f.infinity_code() ? infinity_bits<Word>() : value;
  constexpr Word nan = infinity_bits<Word>() | Word{1} << (layout::mantissa - 1);
  value = is_nan_code(f, trimmed_code) ? nan : value;
  return static_cast<Word>(sign | value);
}

NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr std::uint64_t decode_integer_bits(
    const format& f, std::uint64_t trimmed_code) noexcept {
  const bool negative = (trimmed_code & f.sign_bit()) != 0;
  const std::uint64_t magnitude = negative ? (~trimmed_code + 1) & low_mask(f.bits) : trimmed_code;
  if (f.bits < 53) {
    const std::uint64_t bits = scaled_integer_bits(magnitude, -f.mantissa_bits);
    return negative ? bits | sign_mask<std::uint64_t>() : bits;
  }
  return integer_bits(magnitude) | (negative ? sign_mask<std::uint64_t>() : 0);
}

NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr double decode_code(const format& f, std::uint64_t code) noexcept {
  const std::uint64_t c = trimmed(f, code);
  switch (f.kind) {
    case number_kind::floating: return double_of(decode_float_bits(f, c));
    case number_kind::integer: return double_of(decode_integer_bits(f, c));
    case number_kind::boolean: return code & 0xff ? 1 : 0;
    case number_kind::none: break;
  }
  return double_of(quiet_nan_bits);
}

}  // namespace detail

// The value of a code, exact except for i64 and u64 beyond 2^53, which round to nearest. NaN codes give a
// quiet NaN with the code's sign (f64: the code itself). The sign bit of unsigned formats and other bits
// outside the code are ignored. An unknown dtype gives NaN.
NUMDIFF_HD constexpr double decode(dtype t, std::uint64_t code) noexcept {
  return detail::decode_code(format_of(t), code);
}

template <dtype T>
NUMDIFF_HD constexpr double decode_as(std::uint64_t code) noexcept {
  constexpr format f = format_of(T);
  return detail::decode_code(f, code);
}

}  // namespace v1
}  // namespace numdiff
