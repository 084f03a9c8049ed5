#pragma once
// Reads files in child processes, each file once: a file made to crash HDF5 is refused by its name, and takes
// nothing with it. As many children as there are processors read at the same time, which threads could not:
// HDF5 has one lock.
#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "store/read_failure.hpp"

namespace numdiff::store {

struct file_to_read {
  std::string path;  // named when its child crashes
  // In a child: what was read, as bytes.
  std::function<std::vector<std::byte>()> read;
  // In the caller, perhaps on another thread, and at the same time for several files: those bytes.
  std::function<void(std::span<const std::byte>)> take;
};

struct failed_reading {
  std::size_t file = 0;
  read_failure why;
};

// Nothing when all files were read and taken, otherwise the first of those that could not be, in the order of
// `files`: one that throws, crashes its child, or takes more than 300 seconds of processor time. The calling
// process must not have other threads.
std::optional<failed_reading> read_in_children(std::span<const file_to_read> files);

}  // namespace numdiff::store
