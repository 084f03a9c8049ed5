#pragma once
// Runs a reading in a child process: a file made to crash HDF5 is refused, and takes nothing with it.
#include <functional>
#include <string>

namespace numdiff::store {

// Returns when `work` returned or threw store::error in a child (the caller then does it again and
// sees the same); throws store::error for `path` when the child crashed or took too long.
void try_in_child(const std::string& path, const std::function<void()>& work);

// Runs `work` in a child, all of it, and returns what it returned, 0 to 63. Throws std::runtime_error with
// the message of an exception, and store::error for the file last told to now_reading when the child crashed
// or made no step forward in 20 seconds of processor time. Standard output is the caller's.
int run_in_child(const std::function<int()>& work);

// A step forward: this file is being read. Does nothing outside run_in_child.
void now_reading(const std::string& path) noexcept;

}  // namespace numdiff::store
