#pragma once
// One run with what is derived from it, and what is known about each of its captures.
#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/chain.hpp"
#include "analysis/index.hpp"
#include "analysis/local.hpp"
#include "analysis/merge.hpp"
#include "analysis/rules.hpp"

namespace numdiff::analysis {

// One run with everything that is asked of it.
struct judged_run {
  explicit judged_run(const model::run& run, symbols& names, const model::selection& select,
                      const run_index* like = nullptr)
      : index(run, names, select, like),
        flow(index),
        softmax_inputs(find_softmax_inputs()),
        roots_and_divisors(find_roots_and_divisors()),
        scales(find_scales()),
        forward(find_forward()) {}

  [[nodiscard]] std::vector<bool> find_softmax_inputs() const;
  void mark_sources(const logical_op& op, int hops, std::vector<bool>& feeds) const;
  // (feeds.cpp)
  [[nodiscard]] std::vector<bool> find_roots_and_divisors() const;
  [[nodiscard]] std::set<std::pair<std::uint64_t, std::uint64_t>> find_scales() const;
  void mark_writers(std::int32_t read, std::vector<bool>& feeds) const;

  run_index index;
  chain flow;
  mutable placement_cache placements;  // what was parsed already
  // (factors.cpp)
  [[nodiscard]] bool applied_before(const logical_op& op, double factor, int hops = 4) const;
  [[nodiscard]] rescaling rescaled(std::int32_t capture) const;
  std::vector<bool>
      softmax_inputs;  // by capture: what a softmax reads, directly or through masks, scales, sums and casts
  std::vector<bool> roots_and_divisors;  // by capture: whose root is taken, or what divides
  // Digests of the codes that views have for scales.
  std::set<std::pair<std::uint64_t, std::uint64_t>> scales;
  // (recompute.cpp) step, scope, name
  using program_op = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;
  [[nodiscard]] std::map<program_op, std::vector<std::int32_t>> find_forward() const;
  // The op of the forward pass that an op computes again, nullptr when it was not captured.
  [[nodiscard]] const logical_op* forward_of(const logical_op& again) const;
  // Ops of the forward pass; empty when nothing is recomputed.
  std::map<program_op, std::vector<std::int32_t>> forward;
};

// A capture on its way through the judgement, beside the others of its op.
struct seen_capture {
  const logical_capture* capture = nullptr;
  const merged_capture* merged = nullptr;
  const merged_capture* partner = nullptr;  // of the other run, nullptr none
};

// What the run itself says about `x`, whose op has the captures `all` and was replayed to `local`.
evidence evidence_alone(const judged_run& run, const seen_capture& x, std::span<const seen_capture> all,
                        const local_result& local);

// Whether NaN of a result stand where a mask that its op read shows nothing. (masks.cpp)
bool empty_rows_made(const judged_run& run, const merged_capture& result, std::span<const seen_capture> all);

}  // namespace numdiff::analysis
