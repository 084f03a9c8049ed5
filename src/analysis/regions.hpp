#pragma once
// Ops that one run fuses and the other has in parts.
#include <cstdint>
#include <vector>

#include "analysis/align.hpp"
#include "analysis/chain.hpp"

namespace numdiff::analysis {

// Ops of both runs, in execution order, that have no partner and belong together: they pass data to each
// other, and what they write is read by partners.
struct region {
  std::vector<std::int32_t> reference, test;  // indices into run_index::ops()
  std::vector<capture_pair> results;          // written by them, and read by partners in each other's place
};

std::vector<region> find_regions(const run_index& reference, const chain& reference_flow,
                                 const run_index& test, const chain& test_flow,
                                 const std::vector<op_pair>& pairs);

}  // namespace numdiff::analysis
