#pragma once
// Distances between neighbouring values of a format.
#include <cstdint>

#include "numdiff/classify.hpp"
#include "numdiff/config.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/format.hpp"

namespace numdiff {
inline namespace v1 {

// Position of a code among the values of its format: neighbours differ by 1, +0 and -0 are both 0, u64 is
// shifted by 2^63. NaN codes have a position but no meaning; ask classify first.
NUMDIFF_HD constexpr std::int64_t ordered(dtype t, std::uint64_t code) noexcept {
  const format f = format_of(t);
  const std::uint64_t c = detail::trimmed(f, code);
  if (f.kind == number_kind::boolean) return (code & 0xff) ? 1 : 0;
  if (!f.is_float()) {
    if (f.bits == 64 && !f.is_signed) return static_cast<std::int64_t>(c ^ (std::uint64_t{1} << 63));
    return detail::signed_integer(f, c);
  }
  const std::int64_t magnitude = static_cast<std::int64_t>(c & f.magnitude_mask());
  return (c & f.sign_bit()) ? -magnitude : magnitude;
}

// The code at a position that `ordered` gives; zero is +0.
NUMDIFF_HD constexpr std::uint64_t code_at(dtype t, std::int64_t position) noexcept {
  const format f = format_of(t);
  if (!f.is_float()) {
    const std::uint64_t c = static_cast<std::uint64_t>(position);
    return f.bits == 64 && !f.is_signed ? c ^ (std::uint64_t{1} << 63) : c & detail::low_mask(f.bits);
  }
  const std::uint64_t magnitude =
      position < 0 ? ~static_cast<std::uint64_t>(position) + 1 : static_cast<std::uint64_t>(position);
  return ((position < 0 ? f.sign_bit() : 0) | (magnitude & f.magnitude_mask())) << f.padding;
}

inline constexpr std::uint64_t no_ulp_distance = ~std::uint64_t{0};

// How many steps between neighbouring values lie between two codes; infinity is one step past the maximum.
// 0 between two NaNs, no_ulp_distance between a NaN and a number.
NUMDIFF_HD constexpr std::uint64_t ulp_distance(dtype t, std::uint64_t a, std::uint64_t b) noexcept {
  const bool nan_a = classify(t, a) == number_class::nan;
  const bool nan_b = classify(t, b) == number_class::nan;
  if (nan_a || nan_b) return nan_a && nan_b ? 0 : no_ulp_distance;
  const std::int64_t at_a = ordered(t, a);
  const std::int64_t at_b = ordered(t, b);
  const std::uint64_t forward = static_cast<std::uint64_t>(at_b) - static_cast<std::uint64_t>(at_a);
  return at_a <= at_b ? forward : ~forward + 1;
}

namespace detail {

NUMDIFF_HD constexpr std::int64_t last_position(const format& f) noexcept {
  if (f.kind == number_kind::boolean) return 1;
  if (!f.is_float())
    return static_cast<std::int64_t>(low_mask(f.bits == 64 || f.is_signed ? f.bits - 1 : f.bits));
  return static_cast<std::int64_t>(f.has_infinity ? f.infinity_code() : f.max_code());
}
NUMDIFF_HD constexpr std::int64_t first_position(const format& f) noexcept {
  if (f.is_float()) return f.is_signed ? -last_position(f) : 0;
  return f.is_signed || f.bits == 64 ? -last_position(f) - 1 : 0;
}

}  // namespace detail

// The next greater and the next smaller value. From NaN, and from the last value or infinity of that side,
// the code itself. Passing zero gives +0.
NUMDIFF_HD constexpr std::uint64_t next_up(dtype t, std::uint64_t code) noexcept {
  if (classify(t, code) == number_class::nan) return code;
  const std::int64_t at = ordered(t, code);
  return at >= detail::last_position(format_of(t)) ? code : code_at(t, at + 1);
}
NUMDIFF_HD constexpr std::uint64_t next_down(dtype t, std::uint64_t code) noexcept {
  if (classify(t, code) == number_class::nan) return code;
  const std::int64_t at = ordered(t, code);
  return at <= detail::first_position(format_of(t)) ? code : code_at(t, at - 1);
}

// Spacing of the format's values in the octave of x; that of the smallest normal octave below it, that of
// the largest one above it and for infinity. The step of an integer format. NaN for NaN.
NUMDIFF_HD constexpr double ulp(dtype t, double x) noexcept {
  const format f = format_of(t);
  const std::uint64_t magnitude = detail::bits_of(x) & (detail::sign_mask<std::uint64_t>() - 1);
  if (magnitude > detail::infinity_bits<std::uint64_t>()) return x;
  if (!f.is_float()) return detail::power_of_two(-f.mantissa_bits);
  int exponent = static_cast<int>(magnitude >> 52) - 1023;
  if (exponent < f.min_exponent()) exponent = f.min_exponent();
  if (exponent > f.max_exponent()) exponent = f.max_exponent();
  return detail::power_of_two(exponent - f.mantissa_bits);
}

}  // namespace v1
}  // namespace numdiff
