#pragma once
// Reads a run: one rank file, or the index of several, each with its tail.
#include <span>
#include <string>
#include <vector>

#include "model/run.hpp"
#include "store/error.hpp"

namespace numdiff::store {

class team;

struct load_options {
  // Read files in child processes, so that a file made to crash or hang HDF5 is refused like any other
  // damaged one. Off: for files this process wrote, and in processes with threads.
  bool isolate = true;
  // Processes that share the work; nullptr: this one reads all files.
  store::team* team = nullptr;
};

// Throws store::error, whose what() is one sentence. A rank file that is missing is listed in
// run.missing; a rank file of another run is refused.
model::run load_run(const std::string& path, const load_options& options = {});

// Several runs, whose files are read at the same time. Nothing comes back in other processes than the first
// of a team.
std::vector<model::run> load_runs(std::span<const std::string> paths, const load_options& options = {});

}  // namespace numdiff::store
