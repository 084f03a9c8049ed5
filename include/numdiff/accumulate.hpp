#pragma once
// Sequential accumulators of any format: one exact rounding per step, in any floating-point environment.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/encode.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// x >> shift, the lowest bit set when a one was lost.
NUMDIFF_HD constexpr std::uint64_t shift_with_sticky(std::uint64_t x, int shift) noexcept {
  if (shift > 63) return x != 0;
  return (x >> shift) | static_cast<std::uint64_t>((x & low_mask(shift)) != 0);
}

// Bits of a + b rounded to odd: truncated, the lowest bit set when inexact. A second rounding to 51 bits or
// fewer then gives what one rounding of the exact sum would (Boldo and Melquiond 2008).
NUMDIFF_HD constexpr std::uint64_t sum_to_odd(std::uint64_t a, std::uint64_t b) noexcept {
  constexpr std::uint64_t sign = sign_mask<std::uint64_t>();
  constexpr std::uint64_t infinity = infinity_bits<std::uint64_t>();
  if ((a & ~sign) < (b & ~sign)) {
    const std::uint64_t larger = b;
    b = a;
    a = larger;
  }
  const std::uint64_t magnitude_a = a & ~sign;
  const std::uint64_t magnitude_b = b & ~sign;
  const bool opposite = ((a ^ b) & sign) != 0;
  if (magnitude_a >= infinity) {
    return magnitude_a > infinity || (magnitude_b == infinity && opposite) ? quiet_nan_bits : a;
  }
  if (magnitude_b == 0) return magnitude_a == 0 ? a & b : a;
  if (magnitude_a == magnitude_b && opposite) return 0;

  constexpr int guard = 10;
  const int field_a = static_cast<int>(magnitude_a >> 52);
  const int field_b = static_cast<int>(magnitude_b >> 52);
  const std::uint64_t significand_a = (a & low_mask(52)) | (static_cast<std::uint64_t>(field_a > 0) << 52);
  const std::uint64_t significand_b = (b & low_mask(52)) | (static_cast<std::uint64_t>(field_b > 0) << 52);
  const int distance = (field_a > 0 ? field_a : 1) - (field_b > 0 ? field_b : 1);
  const std::uint64_t x = significand_a << guard;
  const std::uint64_t y = shift_with_sticky(significand_b << guard, distance);
  const std::uint64_t sum = opposite ? x - y : x + y;

  int field = (field_a > 0 ? field_a : 1) - guard;  // of a significand with its leading one at bit 52
  int shift = integer_octave(sum) - 52;
  if (field + shift < 1) shift = 1 - field;  // subnormal
  const std::uint64_t significand = shift >= 0 ? shift_with_sticky(sum, shift) : sum << -shift;
  field += shift;
  if (field >= 2047) return (a & sign) | infinity;
  // a leading one at bit 52 counts the exponent field up by one
  return (a & sign) | ((static_cast<std::uint64_t>(field - 1) << 52) + significand);
}

}  // namespace detail

// The value of format t nearest to sum + x (or by `rule`), rounded once. t of up to 51 significand bits.
NUMDIFF_HD constexpr double add_rounded(dtype t, double sum, double x, cast_rule rule = {}) noexcept {
  const std::uint64_t exact = detail::sum_to_odd(detail::bits_of(sum), detail::bits_of(x));
  return decode(t, encode(t, detail::double_of(exact), rule));
}
template <dtype T>
NUMDIFF_HD constexpr double add_rounded(double sum, double x, cast_rule rule = {}) noexcept {
  static_assert(format_of(T).precision() <= 51, "the sum is rounded to odd in double first");
  const std::uint64_t exact = detail::sum_to_odd(detail::bits_of(sum), detail::bits_of(x));
  return decode_as<T>(encode_as<T>(detail::double_of(exact), rule));
}

// The same for sum + a * b: a fused multiply-add whose factors have 26 significand bits or fewer.
NUMDIFF_HD constexpr double multiply_add_rounded(dtype t, double sum, double a, double b,
                                                 cast_rule rule = {}) noexcept {
  return add_rounded(t, sum, a * b, rule);
}
template <dtype T>
NUMDIFF_HD constexpr double multiply_add_rounded(double sum, double a, double b,
                                                 cast_rule rule = {}) noexcept {
  return add_rounded<T>(sum, a * b, rule);
}

}  // namespace v1
}  // namespace numdiff
