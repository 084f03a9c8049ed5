#pragma once
// Judges the ops of a region that one run fuses by the parts that the other run has.
#include <map>
#include <string>
#include <vector>

#include "analysis/local.hpp"
#include "analysis/regions.hpp"

namespace numdiff::analysis {

struct bridge {
  bool done = false;
  std::string why_not;                          // set when not done
  bool test_fused = true;                       // the fused ops are those of the test
  std::map<std::int32_t, local_result> judged;  // by fused op: its outputs against the parts' replay
  // Reads of the parts and of the fused ops that are one tensor, laid out alike: indices into captures().
  struct shared_read {
    std::int32_t parts = -1, fused = -1;
  };
  std::vector<shared_read> shared;
  std::vector<std::int32_t> unjudged;  // written by fused ops for others, and not by the parts
};

// The parts are replayed from what the fused ops read. An honest fused op may round every intermediate
// result to the coarser of the parts' format and its own inputs': what that makes of the result is found by
// replaying with such errors.
bridge judge_region(const run_index& reference, const chain& reference_flow, const run_index& test,
                    const chain& test_flow, const region& r);

}  // namespace numdiff::analysis
