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
#include "numdiff/dtype.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Magnitudes at which a cast to a binary format changes what it does.
struct cast_limits {
  double maximum;    // largest finite
  double overflow;   // from here on nearest rounding leaves the finite range
  double normal;     // smallest normal
  double underflow;  // up to here nearest rounding gives zero
};

constexpr double power_of_two(int exponent) noexcept {
  double p = 1;
  for (; exponent > 0; --exponent) p *= 2;
  for (; exponent < 0; ++exponent) p /= 2;
  return p;
}

// fraction: explicit fraction bits; low, high: exponents of the smallest normal and the largest
// binade; missing: codes at the top of that binade that are not finite.
constexpr cast_limits limits(int fraction, int low, int high, int missing) noexcept {
  const double step = power_of_two(high - fraction);
  const double maximum = power_of_two(high) * 2 - step - missing * step;
  return {maximum, maximum + step / 2, power_of_two(low), power_of_two(low - fraction) / 2};
}

// For a dtype that no cast goes to: limits that nothing reaches.
constexpr cast_limits limits_of(dtype t) noexcept {
  switch (t) {
    case dtype::f32: return limits(23, -126, 127, 0);
    case dtype::tf32: return limits(10, -126, 127, 0);
    case dtype::bf16: return limits(7, -126, 127, 0);
    case dtype::f16: return limits(10, -14, 15, 0);
    case dtype::e5m6: return limits(6, -14, 15, 0);
    case dtype::f8e4m3fn: return limits(3, -6, 8, 1);
    case dtype::f8e5m2: return limits(2, -14, 15, 0);
    case dtype::f8e4m3fnuz: return limits(3, -7, 7, 0);
    case dtype::f8e5m2fnuz: return limits(2, -15, 15, 0);
    case dtype::f8e4m3: return limits(3, -6, 7, 0);
    case dtype::f8e4m3b11fnuz: return limits(3, -10, 4, 0);
    case dtype::f8e3m4: return limits(4, -2, 3, 0);
    case dtype::f6e2m3fn: return limits(3, 0, 2, 0);
    case dtype::f6e3m2fn: return limits(2, -2, 4, 0);
    case dtype::f4e2m1fn: return limits(1, 0, 2, 0);
    case dtype::ue4m3: return limits(3, -6, 8, 1);
    default: return {1.7976931348623157e308, 1.7976931348623157e308, 0, 0};
  }
}

}  // namespace detail

class cast_counter {
 public:
  explicit constexpr cast_counter(dtype destination, dtype source = dtype::f32) noexcept
      : limits_(detail::limits_of(destination)) {
    raw_.struct_size = sizeof raw_;
    raw_.dtype = static_cast<std::uint16_t>(destination);
    raw_.source_dtype = static_cast<std::uint16_t>(source);
  }

  // `value` is what the cast gets (encode scale applied).
  void before_cast(double value) noexcept {
    std::uint64_t bits = 0;
    __builtin_memcpy(&bits, &value, sizeof bits);
    const std::uint64_t magnitude = bits & 0x7fffffffffffffffU;
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
    if (x >= limits_.overflow) ++raw_.overflowing;
    if (magnitude != 0 && x <= limits_.underflow) {
      ++raw_.flushed;
    } else if (magnitude != 0 && x < limits_.normal) {
      ++raw_.subnormal;
    }
  }

  constexpr cast_counter& operator+=(const cast_counter& other) noexcept {
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

  [[nodiscard]] constexpr const numdiff_counts_v1& raw() const noexcept { return raw_; }

 private:
  numdiff_counts_v1 raw_{};
  detail::cast_limits limits_;
};

}  // namespace v1
}  // namespace numdiff
