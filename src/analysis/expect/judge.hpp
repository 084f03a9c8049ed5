#pragma once
// Compares a stored output with its expectation, element by element and as a whole.
#include <cstddef>

#include "analysis/expect/expectation.hpp"
#include "analysis/expect/grid.hpp"
#include "analysis/expect/replay.hpp"

namespace numdiff::analysis::expect {

// The limit on observed / expected rms where output rounding dominates, for an effective count n of
// independent errors: max(1.3, exp(6 sqrt(0.02^2 + 0.4/n))).
[[nodiscard]] double limit_of(double effective_count) noexcept;

// Multiples of sigma that no element of `count` honest ones exceeds: sqrt(2 ln(2 count / 1e-9)) (Hoeffding).
[[nodiscard]] double reach_of(std::size_t count) noexcept;

// The output's rounding: its format, mode and per-element scale.
struct output_format {
  grid numbers;
  rounding mode = rounding::nearest_even;
  bool integer = false;
  const double* scales = nullptr;  // decode scale per element, null: 1

  [[nodiscard]] double scale(std::size_t i) const noexcept { return scales != nullptr ? scales[i] : 1.0; }
  [[nodiscard]] double ulp(double value, std::size_t i) const noexcept {
    return scale(i) * numbers.ulp(value / scale(i));
  }
  // Variance of an honest rounding of the exact value: ulp^2/12 to nearest, /3 toward zero, /6 stochastic;
  // value^2 where it falls to zero.
  [[nodiscard]] double variance(double value, std::size_t i) const noexcept;
  // Largest honest rounding error next to the value: half an ulp, one when not to nearest.
  [[nodiscard]] double half_width(double value, std::size_t i) const noexcept;
  [[nodiscard]] double rounded(double value, std::size_t i, rounding how) const noexcept {
    return scale(i) * numbers.round(value / scale(i), how);
  }
};
[[nodiscard]] output_format output_format_of(const op_instance& op, const operand& out) noexcept;

[[nodiscard]] judgement judge(const op_instance& op, std::size_t write, const expectation& honest);

}  // namespace numdiff::analysis::expect
