#pragma once
// The training loop.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "options.hpp"
#include "ranks.hpp"

namespace minigpt {

struct training {
  std::vector<double> losses;  // of each step, over all ranks
  std::int64_t applied = 0;    // steps that were not skipped
  std::uint64_t weights = 0;   // digest of this rank's weights
};

// Trains as the options say; rank 0 prints a line for each step and one at the end. `out` may be null.
training train(const options& o, const ranks& world, std::FILE* out);

}  // namespace minigpt
