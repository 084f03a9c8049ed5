#pragma once
// Ops of a recomputation against the same ops of the forward pass of their run.
#include "analysis/judged_run.hpp"

namespace numdiff::analysis {

// Fills `recomputed` and `from_forward` of the evidence about a capture of phase recompute.
void add_recomputation(evidence& e, const judged_run& run, const logical_capture& c);

}  // namespace numdiff::analysis
