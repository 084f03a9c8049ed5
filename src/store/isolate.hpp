#pragma once
// Runs a reading in a child process first.
#include <functional>
#include <string>

namespace numdiff::store {

// Returns when `work` returned or threw store::error in a child (the caller then does it again and
// sees the same); throws store::error for `path` when the child crashed or took too long.
void try_in_child(const std::string& path, const std::function<void()>& work);

}  // namespace numdiff::store
