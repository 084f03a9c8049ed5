#pragma once
// How an error grows over steps: the law that fits it best, from which step on, and how sure that is.
#include <cstddef>
#include <cstdint>
#include <span>

namespace numdiff::analysis {

enum class growth_law : std::uint8_t {
  none,         // stays, or grows no more than rounding adds up
  root,         // as the root of the steps: independent errors, or growth that slows down
  linear,       // each step adds the same
  exponential,  // each step multiplies
  unknown,      // too few steps to tell
};

struct growth_point {
  std::int64_t step = 0;
  double error = 0;  // relative
};

struct growth {
  growth_law law = growth_law::unknown;
  double confidence = 0;      // of the law and the change together, 0 to 1
  bool changes = false;       // the error jumps, or its growth begins, within the steps
  std::size_t change_at = 0;  // index of the first point that is visibly off the level before
  std::size_t earliest = 0;   // first and last point at which the change may as well be, at odds of 20 to 1
  std::size_t latest = 0;
  double level = 0;     // before the change, or at the first step
  double rate = 0;      // root: added in the first step; linear: in each; exponential: the factor of a step
  double expected = 0;  // at the last step, had every step added one rounding like that of `level`
  double last = 0;      // fitted at the last step
};

inline constexpr std::size_t fewest_growth_points = 6;

// Points ascend by step. Errors below `floor` count as it: runs that agree bit by bit are not infinitely
// closer than those that round apart. Errors of independent causes add up in squares. A law other than none,
// and a change, need the odds of 100 to 1 against honest rounding, and an error beyond twice what is
// expected.
growth fit_growth(std::span<const growth_point> points, double floor);

}  // namespace numdiff::analysis
