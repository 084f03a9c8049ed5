#pragma once
// What kind of number a code is, and its octave, from integer bits only.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/format.hpp"

namespace numdiff {
inline namespace v1 {

// Every code is in exactly one class.
enum class number_class : std::uint8_t {
  normal,
  subnormal,
  zero,
  negative_zero,
  plus_maximum,   // the largest finite value
  minus_maximum,  // -maximum, and below it in two's complement
  plus_infinity,
  minus_infinity,
  nan,
};

namespace detail {

NUMDIFF_HD constexpr number_class classify_code(const format& f, std::uint64_t code) noexcept {
  const std::uint64_t c = trimmed(f, code);
  if (f.kind == number_kind::none) return number_class::nan;
  if (f.kind == number_kind::boolean) return (code & 0xff) ? number_class::normal : number_class::zero;
  const bool negative = (c & f.sign_bit()) != 0;
  if (f.kind == number_kind::integer) {
    if (c == 0) return number_class::zero;
    if (c == f.magnitude_mask()) return number_class::plus_maximum;
    // -maximum is sign + 1, the one below it the sign bit alone
    if (negative && c <= f.sign_bit() + 1) return number_class::minus_maximum;
    return number_class::normal;
  }
  if (is_nan_code(f, c)) return number_class::nan;
  const std::uint64_t magnitude = c & f.magnitude_mask();
  if (f.has_infinity && magnitude == f.infinity_code()) {
    return negative ? number_class::minus_infinity : number_class::plus_infinity;
  }
  if (magnitude == f.max_code()) return negative ? number_class::minus_maximum : number_class::plus_maximum;
  if (!f.has_zero) return number_class::normal;
  if (magnitude == 0) return negative ? number_class::negative_zero : number_class::zero;
  return magnitude >> f.mantissa_bits ? number_class::normal : number_class::subnormal;
}

}  // namespace detail

NUMDIFF_HD constexpr number_class classify(dtype t, std::uint64_t code) noexcept {
  return detail::classify_code(format_of(t), code);
}
template <dtype T>
NUMDIFF_HD constexpr number_class classify_as(std::uint64_t code) noexcept {
  constexpr format f = format_of(T);
  return detail::classify_code(f, code);
}

// Octave of zero, infinities and NaN.
inline constexpr int no_octave = -32768;

namespace detail {

NUMDIFF_HD constexpr int octave_of_code(const format& f, std::uint64_t code) noexcept {
  const std::uint64_t c = trimmed(f, code);
  if (f.kind == number_kind::boolean) return (code & 0xff) ? 0 : no_octave;
  if (f.kind == number_kind::integer) {
    const std::uint64_t magnitude = f.is_signed && (c & f.sign_bit()) ? (~c + 1) & low_mask(f.bits) : c;
    return magnitude ? integer_octave(magnitude) - f.mantissa_bits : no_octave;
  }
  const number_class k = classify_code(f, code);
  if (k == number_class::nan || k == number_class::plus_infinity || k == number_class::minus_infinity) {
    return no_octave;
  }
  const std::uint64_t magnitude = c & f.magnitude_mask();
  const int exponent = static_cast<int>(magnitude >> f.mantissa_bits);
  if (exponent > 0 || !f.has_zero) return exponent - f.bias;
  return magnitude ? integer_octave(magnitude) + f.min_exponent() - f.mantissa_bits : no_octave;
}

}  // namespace detail

// floor(log2 |value|) of a code, no_octave for zero, infinities and NaN.
NUMDIFF_HD constexpr int octave(dtype t, std::uint64_t code) noexcept {
  return detail::octave_of_code(format_of(t), code);
}
template <dtype T>
NUMDIFF_HD constexpr int octave_as(std::uint64_t code) noexcept {
  constexpr format f = format_of(T);
  return detail::octave_of_code(f, code);
}

}  // namespace v1
}  // namespace numdiff
