#pragma once
// Binary32 product and quotient with one rounding (nearest even, subnormals kept), whatever the compiler's
// flags and the floating-point environment are.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/encode.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

NUMDIFF_HD constexpr float to_f32(std::uint64_t double_bits) noexcept {
  constexpr format f = format_of(dtype::f32);
  return float_of(static_cast<std::uint32_t>(
      encode_bits(double_bits, f, rounding::nearest_even, overflow::to_infinity, 0)));
}

NUMDIFF_HD constexpr float f32_product(float a, float b) noexcept {
  return to_f32(bits_of(double_of(widen(bits_of(a))) * double_of(widen(bits_of(b)))));
}

NUMDIFF_HD constexpr float f32_quotient(float a, float b) noexcept {
  const std::uint64_t wide_a = widen(bits_of(a));
  const std::uint64_t wide_b = widen(bits_of(b));
  const std::uint64_t sign = (wide_a ^ wide_b) & sign_mask<std::uint64_t>();
  const std::uint64_t magnitude_a = wide_a & ~sign_mask<std::uint64_t>();
  const std::uint64_t magnitude_b = wide_b & ~sign_mask<std::uint64_t>();
  constexpr std::uint64_t infinity = infinity_bits<std::uint64_t>();
  const bool undefined = magnitude_a > infinity || magnitude_b > infinity ||
                         (magnitude_a == infinity && magnitude_b == infinity) ||
                         (magnitude_a == 0 && magnitude_b == 0);
  if (undefined) return to_f32(infinity + 1);
  if (magnitude_a == infinity || magnitude_b == 0) return to_f32(sign | infinity);
  if (magnitude_a == 0 || magnitude_b == infinity) return to_f32(sign);
  const std::uint64_t significand_a = (magnitude_a & low_mask(52)) >> 29 | 1u << 23;
  const std::uint64_t significand_b = (magnitude_b & low_mask(52)) >> 29 | 1u << 23;
  const std::uint64_t dividend = significand_a << 40;
  const std::uint64_t sticky = static_cast<std::uint64_t>(dividend % significand_b != 0);
  const int exponent = static_cast<int>(magnitude_a >> 52) - static_cast<int>(magnitude_b >> 52) - 41;
  return to_f32(sign | scaled_integer_bits((dividend / significand_b) << 1 | sticky, exponent));
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
