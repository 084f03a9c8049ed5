#pragma once
// How far apart two honest runs of one op can be because their inputs are.
#include <string_view>
#include <vector>

namespace numdiff::analysis {

// One tensor that an op reads: how far apart the runs' versions are, and its size in one run.
struct read_distance {
  double relative_l2 = 0;
  double norm = 0;  // Euclidean
  double count = 0;
};

// An upper bound of the relative distance of the output, infinite when the kind has none: exponentials,
// quotients, and kinds that are not known. `norm` and `count` are the output's.
double inherited_bound(std::string_view kind, const std::vector<read_distance>& reads, double norm,
                       double count) noexcept;

// How an op adds up, as far as distances depend on it.
struct inner_sums {
  double unit = 0;     // of the arithmetic inside the op
  double partial = 0;  // of stored partial sums, 0 none
  double length = 1;   // addends
};

// A sixteenth of how far apart two honest runs of one op on equal inputs can be because they add in other
// orders, relative.
double order_noise(std::string_view kind, const std::vector<read_distance>& reads, const inner_sums& how,
                   double norm, double count) noexcept;

}  // namespace numdiff::analysis
