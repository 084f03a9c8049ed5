#pragma once
// Counts before a cast of values that never reach memory as what they were.
//
//   numdiff::cast_counter c(numdiff::dtype::f8e4m3fn);
//   for (...) { c.before_cast(v * encode_scale); y[i] = cast(v * encode_scale); }
//   NUMDIFF_COUNTS(op, "y8", c);
//
// One counter belongs to one thread; counters add up with +=.
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/detail/bits.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/format.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Magnitudes at which a cast to a binary format changes what it does.
struct cast_limits {
  double maximum;    // largest finite
  double overflow;   // beyond this nearest rounding leaves the finite range
  double normal;     // smallest normal
  double underflow;  // up to here nearest rounding gives zero
  bool tie_leaves;   // `overflow` itself does so too
};

// Limits that nothing reaches for a dtype without a largest value below double's.
NUMDIFF_HD constexpr cast_limits limits_of(dtype t) noexcept {
  const format f = format_of(t);
  const double maximum = f.max_finite();
  if (!f.is_float() || t == dtype::f64 || is_complex(t)) return {maximum, maximum, 0, 0, false};
  const double step = power_of_two(f.max_exponent() - f.mantissa_bits);
  return {maximum, maximum + step / 2, f.min_normal(), f.min_subnormal() / 2, (f.max_code() & 1) != 0};
}

}  // namespace detail

class cast_counter {
 public:
  NUMDIFF_HD explicit constexpr cast_counter(dtype destination, dtype source = dtype::f32) noexcept
      : limits_(detail::limits_of(destination)) {
    raw_.struct_size = sizeof raw_;
    raw_.dtype = static_cast<std::uint16_t>(destination);
    raw_.source_dtype = static_cast<std::uint16_t>(source);
  }

  // `value` is what the cast gets (encode scale applied).
  NUMDIFF_HD constexpr void before_cast(double value) noexcept {
    const std::uint64_t magnitude = detail::bits_of(value) & 0x7fffffffffffffffU;
    constexpr std::uint64_t infinity = 0x7ff0000000000000U;
    ++raw_.count;
    if (magnitude >= infinity) {
      ++(magnitude > infinity ? raw_.nan : raw_.infinite);
      return;
    }
    const double x = value < 0 ? -value : value;
    raw_.sum_sq += x * x;
    if (x > raw_.amax) raw_.amax = x;
    if (x > limits_.maximum) ++raw_.beyond_maximum;
    if (x > limits_.overflow || (limits_.tie_leaves && x == limits_.overflow)) ++raw_.overflowing;
    if (magnitude != 0 && x <= limits_.underflow) {
      ++raw_.flushed;
    } else if (magnitude != 0 && x < limits_.normal) {
      ++raw_.subnormal;
    }
  }

  NUMDIFF_HD constexpr cast_counter& operator+=(const cast_counter& other) noexcept {
    raw_.count += other.raw_.count;
    raw_.beyond_maximum += other.raw_.beyond_maximum;
    raw_.overflowing += other.raw_.overflowing;
    raw_.flushed += other.raw_.flushed;
    raw_.subnormal += other.raw_.subnormal;
    raw_.nan += other.raw_.nan;
    raw_.infinite += other.raw_.infinite;
    raw_.sum_sq += other.raw_.sum_sq;
    if (other.raw_.amax > raw_.amax) raw_.amax = other.raw_.amax;
    return *this;
  }

  [[nodiscard]] NUMDIFF_HD constexpr const numdiff_counts_v1& raw() const noexcept { return raw_; }

 private:
  numdiff_counts_v1 raw_{};
  detail::cast_limits limits_;
};

}  // namespace v1
}  // namespace numdiff
