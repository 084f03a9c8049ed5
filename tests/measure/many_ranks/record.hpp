#pragma once
// Records what one rank of a job holds, through the macros and a session of its own.
#include <string>
#include <vector>

#include "measure/many_ranks/stack.hpp"

namespace many_ranks {

// By step and layer: what the replica of the rank holds.
using replica_steps = std::vector<std::vector<layer_values>>;

// Writes the file of one rank of the run `file`; throws std::runtime_error with the session's reason.
void record_rank(const std::string& file, const std::string& run_id, const stack& of, std::int32_t stage,
                 std::int32_t replica, std::int32_t part, const replica_steps& values);

}  // namespace many_ranks
