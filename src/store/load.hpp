#pragma once
// Reads a run: one rank file, or the index of several, each with its tail.
#include <string>

#include "model/run.hpp"
#include "store/error.hpp"

namespace numdiff::store {

struct load_options {
  // Read each file first in a child process, so that a file made to crash or hang HDF5 is refused
  // like any other damaged one. Off: for files this process wrote, and in processes with threads.
  bool isolate = true;
};

// Throws store::error, whose what() is one sentence. A rank file that is missing is listed in
// run.missing; a rank file of another run is refused.
model::run load_run(const std::string& path, const load_options& options = {});

}  // namespace numdiff::store
