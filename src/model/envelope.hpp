#pragma once
// How far apart runs that are known to be good are, tensor by tensor.
#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "numdiff/terms.hpp"

namespace numdiff::model {

// Where a tensor is in a program, the same in every run of it.
struct capture_place {
  std::int64_t step = -1;
  std::int32_t micro_batch = -1;
  numdiff::phase phase = numdiff::phase::none;
  numdiff::role role = numdiff::role::none;
  numdiff::usage usage = numdiff::usage::none;
  std::uint32_t call = 0;     // of its op
  std::uint32_t ordinal = 0;  // among captures of the op with the same name
  std::string scope, op, tensor;
  auto operator<=>(const capture_place&) const = default;
};

// Between pairs of good runs.
struct spread {
  double relative_l2 = 0;       // the largest distance |a - b| / |a|
  double unit = 0;              // the coarsest unit roundoff among them
  std::uint32_t pairs = 0;      // that were measured
  std::uint32_t different = 0;  // of these, not bitwise equal
  double local_error = 0;       // rms error that the trusted run's own op adds; 0 not known
  bool repeats_differ = false;  // executions of the same program read the same and wrote other bits
};

struct envelope {
  std::string path;                // of its file, or of the trusted run
  std::vector<std::string> runs;   // paths of the good runs
  bool trusted = false;            // distances of one low-precision run from its reference
  std::uint64_t not_measured = 0;  // captures that have no distance in any pair
  std::map<capture_place, spread> spreads;
};

}  // namespace numdiff::model
