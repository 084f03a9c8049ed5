#pragma once
// Whether two tensors hold the same numbers at other places.
#include "analysis/index.hpp"
#include "analysis/merge.hpp"

namespace numdiff::analysis {

// One format: by counts, extremes and sums.
bool same_bag(const merged_capture& a, const merged_capture& b) noexcept;

// The formats may differ by one rounding: by the sorted values, or by sums and extremes when a side kept
// none. False for more than 2^22 of them.
bool same_bag_rounded(const run_index& of_a, const merged_capture& a, const run_index& of_b,
                      const merged_capture& b);

}  // namespace numdiff::analysis
