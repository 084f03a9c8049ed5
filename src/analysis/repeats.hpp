#pragma once
// What the numbers of a tensor say about sums of them, without the numbers.
#include "analysis/merge.hpp"

namespace numdiff::analysis {

// Roundings of sums of such numbers may repeat and so add up: few distinct numbers (16 bits or fewer, alike
// in size, in few octaves), or a few large ones beside which the rest is absorbed.
bool repeats(const run_index& run, const merged_capture& m);

// Root mean square over the standard deviation, infinite where all numbers are one: by that much a mean that
// is subtracted amplifies errors.
double over_deviation(const merged_capture& m) noexcept;

}  // namespace numdiff::analysis
