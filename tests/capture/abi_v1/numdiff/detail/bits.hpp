#pragma once
// Bits of float and double, by integers only: the same under -ffast-math, FTZ and any rounding mode.
#include <cstdint>

#include "numdiff/config.hpp"

// For functions that take a format which is a constant where they are called: worth it only when inlined.
#if defined(__GNUC__) || defined(__clang__)
#define NUMDIFF_DETAIL_INLINE __attribute__((always_inline)) inline
#else
#define NUMDIFF_DETAIL_INLINE inline
#endif

namespace numdiff {
inline namespace v1 {
namespace detail {

// Needs gcc 11, clang 9 or a newer compiler.
NUMDIFF_HD constexpr std::uint64_t bits_of(double x) noexcept {
  return __builtin_bit_cast(std::uint64_t, x);
}
NUMDIFF_HD constexpr std::uint32_t bits_of(float x) noexcept {
  return __builtin_bit_cast(std::uint32_t, x);
}
NUMDIFF_HD constexpr double double_of(std::uint64_t bits) noexcept {
  return __builtin_bit_cast(double, bits);
}
NUMDIFF_HD constexpr float float_of(std::uint32_t bits) noexcept {
  return __builtin_bit_cast(float, bits);
}

// Layout of the words that casts start from.
template <class Word>
struct binary_layout;
template <>
struct binary_layout<std::uint32_t> {
  using real = float;
  using signed_word = std::int32_t;
  static constexpr int mantissa = 23, bias = 127, width = 32;
};
template <>
struct binary_layout<std::uint64_t> {
  using real = double;
  using signed_word = std::int64_t;
  static constexpr int mantissa = 52, bias = 1023, width = 64;
};
template <class Word>
NUMDIFF_HD constexpr Word sign_mask() noexcept {
  return static_cast<Word>(Word{1} << (binary_layout<Word>::width - 1));
}
// Bits of +infinity; larger magnitudes are NaN.
template <class Word>
NUMDIFF_HD constexpr Word infinity_bits() noexcept {
  return static_cast<Word>((sign_mask<Word>() - 1) & ~((Word{1} << binary_layout<Word>::mantissa) - 1));
}

NUMDIFF_HD constexpr std::uint64_t low_mask(int bits) noexcept {
  return bits >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
}

// 2^e for -1074 <= e <= 1023.
NUMDIFF_HD constexpr double power_of_two(int e) noexcept {
  return double_of(e >= -1022 ? static_cast<std::uint64_t>(e + 1023) << 52 : std::uint64_t{1} << (e + 1074));
}

// Bits of integer * 2^e as a double (or float); the integer below 2^53 (2^24), the result zero or normal.
template <class Word = std::uint64_t>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr Word scaled_integer_bits(std::uint64_t integer, int e) noexcept {
  using real = typename binary_layout<Word>::real;
  using signed_word = typename binary_layout<Word>::signed_word;  // converts to real in one instruction
  const Word bits = static_cast<Word>(bits_of(static_cast<real>(static_cast<signed_word>(integer))) +
                                      (static_cast<Word>(e) << binary_layout<Word>::mantissa));
  return integer == 0 ? Word{0} : bits;
}

// floor(log2 x) for the integer x > 0.
NUMDIFF_HD constexpr int integer_octave(std::uint64_t x) noexcept {
  return 63 - __builtin_clzll(x);
}

// Bits of an integer as a double, nearest even in any rounding mode.
NUMDIFF_HD constexpr std::uint64_t integer_bits(std::uint64_t integer) noexcept {
  if (integer >> 53 == 0) return scaled_integer_bits(integer, 0);
  const int shift = integer_octave(integer) - 52;
  const std::uint64_t kept = integer >> shift;
  const std::uint64_t rest = integer & low_mask(shift);
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  const bool up = rest > half || (rest == half && (kept & 1));
  return (static_cast<std::uint64_t>(1023 + 52 + shift) << 52) + (kept & low_mask(52)) + up;
}

// floor(log2 |x|) from the bits of a finite, nonzero x.
NUMDIFF_HD constexpr int octave_of_bits(std::uint64_t bits) noexcept {
  const std::uint64_t magnitude = bits & (sign_mask<std::uint64_t>() - 1);
  return magnitude >> 52 ? static_cast<int>(magnitude >> 52) - 1023 : integer_octave(magnitude) - 1074;
}

// float to double, exact, subnormals kept and signalling NaNs not quieted.
NUMDIFF_HD constexpr std::uint64_t widen(std::uint32_t bits) noexcept {
  const std::uint64_t sign = static_cast<std::uint64_t>(bits >> 31) << 63;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude < 0x00800000u) return sign | scaled_integer_bits(magnitude, -149);
  const std::uint64_t rebias = magnitude < 0x7f800000u ? 1023 - 127 : 2047 - 255;
  return sign | ((static_cast<std::uint64_t>(magnitude) << 29) + (rebias << 52));
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
