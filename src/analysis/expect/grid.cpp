#include "analysis/expect/grid.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numdiff/format.hpp"

namespace numdiff::analysis::expect {
namespace {

int octave(double magnitude) noexcept {
  return magnitude >= std::numeric_limits<double>::min() ? std::ilogb(magnitude) : -1074;
}

}  // namespace

double grid::unit() const noexcept {
  return std::ldexp(1.0, -precision);
}

double grid::smallest() const noexcept {
  return std::ldexp(1.0, min_exponent - precision + 1);
}

double grid::ulp(double x) const noexcept {
  const double magnitude = std::fabs(x);
  return std::ldexp(1.0,
                    std::max(magnitude > 0 ? octave(magnitude) : min_exponent, min_exponent) - precision + 1);
}

double grid::round(double x, rounding mode) const noexcept {
  if (!std::isfinite(x) || x == 0) return x;
  const double spacing = ulp(x);
  const double steps = x / spacing;  // exact: the spacing is a power of two
  switch (mode) {
    case rounding::toward_zero: return std::trunc(steps) * spacing;
    case rounding::up: return std::ceil(steps) * spacing;
    default: return std::nearbyint(steps) * spacing;
  }
}

grid grid_of(dtype t) noexcept {
  const format f = format_of(t);
  switch (f.kind) {
    case number_kind::floating: return {f.precision(), f.min_exponent(), f.max_finite()};
    case number_kind::boolean: return {1, 0, 1};
    case number_kind::integer: {
      // Every number up to the maximum has the same spacing; double counts to 2^53.
      const int bits = std::min<int>(f.bits - (f.is_signed ? 1 : 0), 53);
      return {bits, bits - 1 - f.mantissa_bits, f.max_finite()};
    }
    case number_kind::none: break;
  }
  return {53, -1022, std::numeric_limits<double>::max()};
}

}  // namespace numdiff::analysis::expect
