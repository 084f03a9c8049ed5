#pragma once
// Replicas that differ although they must not: whether they are terms of what the other run holds whole.
#include "analysis/index.hpp"
#include "analysis/values.hpp"

namespace numdiff::analysis {

// True when the distinct tensors of the capture's ranks add up to what the reader gives, to within the
// rounding of their format. False when values were not stored.
bool add_up_to(const run_index& run, const logical_capture& capture, value_reader& reader);

}  // namespace numdiff::analysis
