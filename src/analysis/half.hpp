#pragma once
// One run's ops of a region, and where what they read comes from.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "analysis/chain.hpp"
#include "analysis/index.hpp"
#include "analysis/local.hpp"

namespace numdiff::analysis {

struct half {
  const run_index& run;
  const chain& flow;
  const std::vector<std::int32_t>& ops;

  [[nodiscard]] const logical_op& op(std::int32_t i) const { return run.ops()[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const logical_capture& capture(std::int32_t i) const {
    return run.captures()[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool replayable() const {
    return std::ranges::all_of(ops, [&](std::int32_t i) { return replays(run.kind_of(op(i))); });
  }
  // The capture that wrote what `c` reads, -1 none.
  [[nodiscard]] std::int32_t writer(std::int32_t c) const { return flow.writer(c); }
  // What its op reads first, -1 nothing.
  [[nodiscard]] std::int32_t first_read(const logical_op& op) const;
  // The capture that casts and copies made what `c` reads from, -1 none.
  [[nodiscard]] std::int32_t behind(std::int32_t c) const;
};

}  // namespace numdiff::analysis
