#pragma once
// The numbers a format can hold, as the error model needs them: spacing, range, rounding.
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff::analysis::expect {

// Spacing at x is 2^(max(floor(log2|x|), min_exponent) - precision + 1). Rounding knows no largest
// number: what exceeds `maximum` is the caller's to judge.
struct grid {
  int precision = 53;        // significand bits with the hidden one
  int min_exponent = -1022;  // of normal numbers; for integers chosen so that the spacing is 1
  double maximum = 0;        // largest finite

  [[nodiscard]] double unit() const noexcept;         // unit roundoff 2^-precision
  [[nodiscard]] double smallest() const noexcept;     // smallest positive number
  [[nodiscard]] double ulp(double x) const noexcept;  // spacing at |x|
  [[nodiscard]] double round(double x, rounding mode = rounding::nearest_even) const noexcept;
  [[nodiscard]] bool holds(double x) const noexcept { return round(x) == x; }
};

// Integers too; complex dtypes by their parts; unknown as f64.
[[nodiscard]] grid grid_of(dtype t) noexcept;

// rms relative error of rounding to nearest, log-uniform significand (facts: 0.4247 u).
inline constexpr double rho_factor = 0.4247;

}  // namespace numdiff::analysis::expect
