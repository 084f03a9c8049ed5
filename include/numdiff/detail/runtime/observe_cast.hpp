#pragma once
// Counts and errors of a cast, from the source, the codes it became and the scale between them.
#include <cmath>
#include <cstdint>
#include <limits>

#include "numdiff/classify.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Where rounding to nearest even, with no bound on the exponent, would pass the largest finite value of a
// format: at `edge`, which itself passes when ties go up.
struct cast_limit {
  double largest = std::numeric_limits<double>::infinity();
  double edge = std::numeric_limits<double>::infinity();
  bool tie_passes = false;

  [[nodiscard]] bool beyond(double magnitude) const noexcept { return magnitude > largest; }
  [[nodiscard]] bool overflows(double magnitude) const noexcept {
    return magnitude > edge || (tie_passes && magnitude == edge);
  }
};

// Limits of the positive (0) and negative (1) side.
inline cast_limit limit_of(const format& f, bool negative) noexcept {
  cast_limit l;
  if (f.kind == number_kind::none || f.kind == number_kind::boolean) return l;
  if (f.kind == number_kind::integer) {
    const double step = power_of_two(-f.mantissa_bits);
    const std::uint64_t units = integer_limit(f, negative);
    l.largest = static_cast<double>(units) * step;
    l.edge = (static_cast<double>(units) + 0.5) * step;
    l.tie_passes = (units & 1) != 0;
    return l;
  }
  l.largest = f.max_finite();
  if (f.bits == 64) return l;
  const double step = power_of_two(f.max_exponent() - f.mantissa_bits);
  l.edge = l.largest + step / 2;
  l.tie_passes = (f.max_code() & 1) != 0;
  return l;
}

// One element: x the source value, y = x * encode scale (+ zero point), code and its decoded value.
struct cast_counter {
  cast_limit limit[2];
  double source_maximum = 0;  // magnitude left out of the sums: a fill value of a mask; 0 none

  template <numdiff::dtype T>
  void add(cast_row& row, double x, double y, std::uint64_t code, double value) const noexcept {
    ++row.count;
    const double magnitude = std::fabs(x);
    if (x != x) {
      ++row.nan;
      return;
    }
    if (magnitude > std::numeric_limits<double>::max()) {
      ++row.infinite;
      return;
    }
    if (magnitude > row.amax) row.amax = magnitude;
    const cast_limit& side = limit[y < 0 ? 1 : 0];
    const bool overflows = side.overflows(std::fabs(y));
    if (side.beyond(std::fabs(y))) ++row.beyond_maximum;
    if (overflows) ++row.overflowing;
    const number_class k = classify_as<T>(code);
    const bool flushed = x != 0 && value == 0 && k < number_class::plus_infinity;
    if (flushed) ++row.flushed;
    if (k == number_class::subnormal) ++row.subnormal;
    if (magnitude == source_maximum) return;
    double square = magnitude * magnitude;
    NUMDIFF_DETAIL_KEEP_APART(square);
    row.sum_sq += square;
    if (k >= number_class::plus_infinity || std::fabs(value) > std::numeric_limits<double>::max() ||
        value != value) {
      return;
    }
    const double error = value - x;
    square = error * error;
    NUMDIFF_DETAIL_KEEP_APART(square);
    (overflows ? row.clip_sq : flushed ? row.underflow_sq : row.rounding_sq) += square;
    row.signed_error += x < 0 ? -error : x > 0 ? error : 0;
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
