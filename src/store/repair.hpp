#pragma once
// Makes one closed file of a run file and its tail.
#include <cstdint>
#include <string>
#include <vector>

#include "store/error.hpp"

namespace numdiff::store {

struct repair_options {
  std::string output;   // where to write; "": in place, the original becomes `.old`
  bool isolate = true;  // see load_options
};

struct repaired_file {
  std::string path;
  bool written = false;        // false: it was closed and had no tail
  std::uint64_t last_id = 0;   // newest message in it
  std::uint64_t captures = 0;  // in it
  std::uint64_t cut_rows = 0;  // could not be saved; counted as dropped in the new file
};

// Repairs a rank file, or in place every rank file of an index. An original is touched only after its
// copy is complete. Throws store::error.
std::vector<repaired_file> repair(const std::string& path, const repair_options& options = {});

}  // namespace numdiff::store
