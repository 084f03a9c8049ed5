#pragma once
// Casts by definition: a sorted list of all values of a format, built with Boost.Multiprecision, and a
// search. Shares nothing with the library but names.
#include <algorithm>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cstdint>
#include <limits>
#include <vector>

#include "numdiff/rounding.hpp"
#include "values/known_formats.hpp"

namespace numdiff::test {

using quad = boost::multiprecision::cpp_bin_float_quad;

class oracle {
 public:
  explicit oracle(const known_format& f) : f_(f) {
    const std::uint64_t last = magnitudes() - 1;
    for (std::uint64_t m = 0; m <= last; ++m) {
      if (magnitude_value(m) > quad(f.max_finite)) break;
      values_.push_back(magnitude_value(m));
    }
    beyond_ = magnitude_value(values_.size());
  }

  // Number of codes without the sign.
  std::uint64_t magnitudes() const { return std::uint64_t{1} << (f_.exponent_bits + f_.mantissa_bits); }
  std::uint64_t finite() const { return values_.size(); }
  const quad& value(std::uint64_t magnitude) const { return values_[magnitude]; }
  // The value that the code after the maximum would have if it were finite.
  const quad& beyond() const { return beyond_; }

  bool is_nan(std::uint64_t code) const {
    const std::uint64_t magnitude = code % magnitudes();
    switch (f_.nan) {
      case nan_codes::none: return false;
      case nan_codes::ieee: return magnitude > finite();
      case nan_codes::all_ones: return magnitude == magnitudes() - 1;
      case nan_codes::negative_zero: return code == magnitudes();
    }
    return false;
  }
  bool is_infinity(std::uint64_t code) const { return f_.has_infinity && code % magnitudes() == finite(); }

  // The code of a finite x or of an infinity; `random` decides stochastic rounding.
  std::uint64_t encode(double x, rounding mode, bool saturate, std::uint64_t random = 0) const {
    const bool negative = std::signbit(x) && f_.is_signed();
    if (std::isinf(x)) return overflowed(negative, saturate);
    const quad magnitude = abs(quad(x));
    std::uint64_t code = round(magnitude, negative, mode, random);
    if (code >= finite()) {
      const bool stays = mode == rounding::toward_zero || (mode == rounding::up && negative);
      if (!stays) return overflowed(negative, saturate);
      code = finite() - 1;
    }
    if (code == 0 && !f_.has_signed_zero) return 0;
    return code | (negative ? magnitudes() : 0);
  }

 private:
  // sum of the bits' weights; E8M0 has neither zero nor subnormals
  quad magnitude_value(std::uint64_t m) const {
    const int exponent = static_cast<int>(m >> f_.mantissa_bits);
    const std::uint64_t fraction = m % (std::uint64_t{1} << f_.mantissa_bits);
    const bool hidden = exponent > 0 || f_.type == dtype::f8e8m0fnu;
    const quad significand = quad(fraction) / quad(std::uint64_t{1} << f_.mantissa_bits) + (hidden ? 1 : 0);
    return ldexp(significand, (hidden ? exponent : 1) - f_.bias);
  }

  std::uint64_t round(const quad& magnitude, bool negative, rounding mode, std::uint64_t random) const {
    if (magnitude < values_.front()) return 0;  // E8M0's smallest
    if (magnitude >= beyond_) return finite();
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const std::uint64_t low = static_cast<std::uint64_t>(above - values_.begin()) - 1;
    const quad& high_value = low + 1 < finite() ? values_[low + 1] : beyond_;
    const quad distance = magnitude - values_[low];
    if (distance == 0) return low;
    switch (mode) {
      case rounding::toward_zero: return low;
      case rounding::up: return negative ? low : low + 1;
      case rounding::stochastic:
        return ldexp(quad(random), -64) < distance / (high_value - values_[low]) ? low + 1 : low;
      default: break;
    }
    const quad to_high = high_value - magnitude;
    if (distance == to_high) return low % 2 == 0 ? low : low + 1;
    return distance < to_high ? low : low + 1;
  }

  std::uint64_t overflowed(bool negative, bool saturate) const {
    const std::uint64_t sign = negative ? magnitudes() : 0;
    if (saturate || f_.nan == nan_codes::none) return (finite() - 1) | sign;
    if (f_.has_infinity) return finite() | sign;
    return f_.nan == nan_codes::negative_zero ? magnitudes() : (magnitudes() - 1) | sign;
  }

  known_format f_;
  std::vector<quad> values_;
  quad beyond_;
};

}  // namespace numdiff::test
