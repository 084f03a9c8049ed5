#pragma once
// How far apart the two runs' versions of one tensor are.
#include <optional>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/index.hpp"
#include "analysis/merge.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

// The decoded values of a logical capture by global row-major index, pending factor divided out.
// Nothing when a part kept no values or its placement does not fit its shape.
std::optional<std::vector<double>> global_values(const run_index& run, const merged_capture& capture,
                                                 placement_cache& placements);

// Over elements finite in both; `unit` is the coarser of the two formats, for ulps.
distances measure_values(const std::vector<double>& reference, const std::vector<double>& test, dtype unit);

// Only relative_l2, cosine and factor, estimated; standard error about 4 % of the distance.
distances measure_sketches(const merged_capture& reference, const merged_capture& test);

// Unit roundoff of a format (half an ulp of 1); 0 for integers, infinite for unknown formats.
double unit_roundoff(dtype type) noexcept;

}  // namespace numdiff::analysis
