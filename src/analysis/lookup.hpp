#pragma once
// Where the pieces of a judgement are found.
#include <algorithm>
#include <cstdint>

#include "analysis/judged_run.hpp"

namespace numdiff::analysis {

inline const logical_op& op_of(const judged_run& run, std::int32_t op) {
  return run.index.ops()[static_cast<std::size_t>(op)];
}

// The index of a capture in its run, -1 for nullptr.
inline std::int32_t position(const judged_run& run, const logical_capture* c) {
  return c == nullptr ? -1 : static_cast<std::int32_t>(c - run.index.captures().data());
}

// Of one capture, nullptr when it was not judged.
inline const local_judgement* judgement_of(const local_result& local, std::int32_t capture) {
  const auto at = std::ranges::find(local.outputs, capture, &local_judgement::capture);
  return at == local.outputs.end() ? nullptr : &*at;
}

}  // namespace numdiff::analysis
