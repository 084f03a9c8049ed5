#pragma once
// Which captures would decide what is open.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/index.hpp"

namespace numdiff::analysis {

// Ops whose values would decide a verdict, and the request for the next run that records them. Everything
// else of those steps is kept as sketches, so that values can still be followed from op to op.
class capture_wishes {
 public:
  // `order` is the place of the op in the walk. `open`: values would decide it; otherwise it is decided, but
  // by its distance alone, and is asked for only together with others: what they read comes from it.
  void add(const run_index& run, const logical_op& op, std::uint64_t order, bool open = true);
  // The op that matters was not captured: all ops of the step.
  void add_step(std::int64_t step, std::uint64_t order);
  // A run that holds in one piece what several ranks of the other hold: "tp=4".
  void add_shards(const std::string& axis_and_ranks);

  // Wishes up to `last` in the walk: what comes later does not change where an error begins. `run` tells what
  // there is to select.
  [[nodiscard]] std::optional<capture_request> request(const run_index& run, std::uint64_t last) const;

 private:
  struct wish {
    std::uint64_t order = 0;
    std::int64_t step = -1;
    std::string scope, op;
    bool open = true, all = false;
  };
  std::vector<wish> wishes_;
  std::set<std::string> shards_;
};

// "NUMDIFF_SELECT=... NUMDIFF_STEPS=... NUMDIFF_LEVEL=..." for a shell.
std::string line_of(const capture_request& request);

}  // namespace numdiff::analysis
