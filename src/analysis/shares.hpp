#pragma once
// A tensor of two runs, taken apart into the smallest sets of elements that both runs tell apart.
#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "analysis/index_map.hpp"
#include "analysis/merge.hpp"

namespace numdiff::analysis {

// What one rank holds of a tensor, or a piece of it that it observed apart.
struct share {
  std::int32_t rank = 0;  // world rank
  index_map where;
  std::array<std::uint64_t, 2> digest{};
  std::optional<sketch> sums;  // with the scale of an addend, without the pending factor
};

// Elements that a set of shares of each run holds exactly.
struct share_unit {
  std::vector<share> reference, test;
  bool complete = true;  // both hold the same ones: no rank is missing
};

// Shares that overlap, directly or through others, stand in one unit: two layouts that shard alike make one
// of each rank, a whole tensor against shards makes one of all. Empty when a placement does not tell.
std::vector<share_unit> units_of(const run_index& reference_run, const merged_capture& reference,
                                 placement_cache& reference_placements, const run_index& test_run,
                                 const merged_capture& test, placement_cache& test_placements);

}  // namespace numdiff::analysis
