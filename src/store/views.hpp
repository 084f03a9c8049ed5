#pragma once
// A sibling file that shows stored tensors by name, for people and their scripts: `run.views.h5` with
// virtual datasets into `run.h5`. numdiff never reads it.
#include <cstdint>
#include <string>
#include <vector>

#include "store/error.hpp"

namespace numdiff::store {

// A closing session makes the views itself up to this many stored tensors.
inline constexpr std::uint64_t views_at_close = 10'000;

struct view_options {
  bool isolate = true;  // see load_options
};

struct written_views {
  std::string path;
  std::uint64_t tensors = 0;
};

// Writes the views of a closed rank file, or of every rank file of an index; written aside and
// renamed. Throws store::error, also for a file that was not closed (repair it first).
std::vector<written_views> make_views(const std::string& path, const view_options& options = {});

}  // namespace numdiff::store
