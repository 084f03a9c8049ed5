#pragma once
// How far apart the two runs' versions of one tensor are.
#include <optional>

#include "analysis/comparison.hpp"
#include "analysis/index.hpp"
#include "analysis/merge.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

struct measured {
  distances apart;
  bool integral = false;  // every reference value is a whole number
  bool steady = false;    // most neighbours in it are one distance apart, as positions and counters are
  double largest = 0;     // of the finite magnitudes of the reference
};

// From values, in windows of bounded size, over elements finite in both; 64-bit integers exactly. Nothing
// when a side kept no values or the sizes differ. Ulps are those of the coarser format, at its scale.
std::optional<measured> measure_values(const run_index& reference, const merged_capture& reference_capture,
                                       placement_cache& reference_placements, const run_index& test,
                                       const merged_capture& test_capture, placement_cache& test_placements);

// 64 bits: doubles do not hold all of its values.
bool is_wide_integer(dtype type) noexcept;

inline constexpr double sketch_error = 1.21;  // of a distance from sketches, 4.75 standard errors

// Only relative_l2, cosine and factor, estimated; standard error about 4 % of the distance.
distances measure_sketches(const run_index& reference, const merged_capture& reference_capture,
                           const run_index& test, const merged_capture& test_capture);

// Unit roundoff of a format (half an ulp of 1); 0 for integers, infinite for unknown formats.
double unit_roundoff(dtype type) noexcept;

}  // namespace numdiff::analysis
