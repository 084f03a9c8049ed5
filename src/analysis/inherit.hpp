#pragma once
// How far apart two honest runs of one op can be because their inputs are.
#include <algorithm>
#include <string_view>
#include <vector>

namespace numdiff::analysis {

// One tensor that an op reads: how far apart the runs' versions are, and its size in one run.
struct read_distance {
  double relative_l2 = 0;
  double norm = 0;  // Euclidean
  double count = 0;
  double amax = 0;
  bool repeats = false;       // roundings of its sums may repeat (repeats.hpp)
  double over_deviation = 1;  // root mean square over the standard deviation
  double factor = 1;          // best factor between the runs
};

// An upper bound of the relative distance of the output, infinite when the kind has none: exponentials,
// quotients, and kinds that are not known. `norm` and `count` are the output's.
double inherited_bound(std::string_view kind, const std::vector<read_distance>& reads, double norm,
                       double count) noexcept;

// How an op adds up, as far as distances depend on it.
struct inner_sums {
  double reference_unit = 0, test_unit = 0;  // of the arithmetic inside the op, in each run; 0 not told
  double partial = 0;                        // of stored partial sums, 0 none
  double length = 1;                         // addends of each result
  double batch = 1;                          // products that are one op

  [[nodiscard]] double unit() const noexcept { return std::max(reference_unit, test_unit); }
};

// How far apart two honest runs of one op on equal inputs can be because they round inside, relative.
struct inner_limits {
  double usual = 0;          // about what they are
  double most = 0;           // above it no honest pair gets
  bool independent = false;  // of what the op reads: it adds to other distances in squares
};
inner_limits limits_of_rounding(std::string_view kind, const std::vector<read_distance>& reads,
                                const inner_sums& how, double norm, double count) noexcept;

}  // namespace numdiff::analysis
