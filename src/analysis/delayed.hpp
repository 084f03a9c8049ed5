#pragma once
// Delayed scaling: a scale that follows the amax of earlier steps, and that a growing tensor outgrows by
// design.
#include "analysis/local.hpp"

namespace numdiff::analysis {

// Values above this multiple of a scale's reach are no spike that a delayed scale may meet.
inline constexpr double largest_spike = 4;

// Whether the one scale of what `op` wrote reaches what the same op quantised in the step before.
bool follows_step_before(const run_index& run, const logical_op& op, const logical_capture& written);

// Acquits outputs of `op` that are beyond only because their scale reaches less than the values, where it
// follows the step before. A scale that does not is stale.
void acquit_delayed_scales(const run_index& run, const logical_op& op, local_result& result);

}  // namespace numdiff::analysis
