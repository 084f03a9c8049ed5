#pragma once
// Walks two aligned runs in execution order and judges op by op.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "analysis/align.hpp"
#include "analysis/chain.hpp"
#include "analysis/comparison.hpp"
#include "analysis/index.hpp"
#include "analysis/local.hpp"
#include "analysis/measure.hpp"
#include "analysis/merge.hpp"
#include "analysis/rules.hpp"

namespace numdiff::analysis {

// One run with everything that is asked of it.
struct judged_run {
  explicit judged_run(const model::run& run, symbols& names, const model::selection& select)
      : index(run, names, select),
        flow(index),
        softmax_inputs(find_softmax_inputs()),
        forward(find_forward()) {}

  [[nodiscard]] std::vector<bool> find_softmax_inputs() const;

  run_index index;
  chain flow;
  placement_cache placements;
  // (factors.cpp)
  [[nodiscard]] bool applied_before(const logical_op& op, double factor, const symbols& names,
                                    int hops = 4) const;
  [[nodiscard]] bool rescaled(std::int32_t capture) const;
  std::vector<bool> softmax_inputs;  // by capture: what a softmax reads, directly or through a mask
  // (recompute.cpp) step, scope, name
  using program_op = std::tuple<std::int64_t, std::uint32_t, std::uint32_t>;
  [[nodiscard]] std::map<program_op, std::vector<std::int32_t>> find_forward() const;
  // The op of the forward pass that an op computes again, nullptr when it was not captured.
  [[nodiscard]] const logical_op* forward_of(const logical_op& again) const;
  // Ops of the forward pass; empty when nothing is recomputed.
  std::map<program_op, std::vector<std::int32_t>> forward;
};

// A pair of captures, or one without partner, on its way through the judgement.
struct item {
  const logical_capture* reference = nullptr;
  const logical_capture* test = nullptr;
  std::optional<merged_capture> reference_merged, test_merged;
  analysis::verdict verdict = analysis::verdict::undecided;
  bool counted = false;  // has a partner
  std::string reason;
  distances apart;
  double limit = 0;

  [[nodiscard]] const logical_capture& any() const { return test != nullptr ? *test : *reference; }
};

// Differences that need no finding each: where they began and how many.
struct benign {
  place where;
  std::uint64_t captures = 0, order = 0;
};

class comparer {
 public:
  comparer(const model::run& reference, const model::run& test, const options& how);
  comparison run();

 private:
  using update_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, numdiff::phase,
                                numdiff::role, std::uint32_t, std::int64_t>;

  // ops (judge_op.cpp)
  void judge(const op_pair& pair, std::uint64_t order);
  std::vector<item> items_of(const op_pair& pair);
  void count(const item& x, const op_pair& pair);

  // writes (judge_written.cpp)
  void judge_written(item& x, const op_pair& pair, const local_result& reference, const local_result& test,
                     const std::vector<item>& all);
  void judge_scalar(item& x);
  std::optional<measured> values_apart(const merged_capture& reference, const merged_capture& test);
  distances distance(const merged_capture& reference, const merged_capture& test);
  void judge_factors(std::vector<item>& items);  // (factors.cpp)
  void note_flips(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                  const local_result& test, std::uint64_t order);  // (flips.cpp)

  // findings (find.cpp, evidence.cpp)
  void find(std::vector<item>& items, const op_pair& pair, const local_result& reference,
            const local_result& test, std::uint64_t order);
  evidence evidence_of(const item& x, const op_pair& pair, side where, const std::vector<item>& all,
                       const local_result& local) const;

  // reads (judge_read.cpp)
  void judge_read(item& x, const op_pair& pair);
  source_state state_of_source(item& x, const op_pair& pair, bool must_agree);
  const merged_capture* partner_by_update(item& x, const op_pair& pair);

  // on the way from writer to reader (passage.cpp)
  struct passage {
    analysis::gap gap = analysis::gap::none;
    std::int32_t writer = -1;  // the capture of the same run that the read should stem from
  };
  passage passage_of(std::int32_t capture, std::int32_t partner, side where);
  std::int32_t expected_writer(std::int32_t partner, side where) const;

  // the answer (compare.cpp)
  void note_losses(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                   const local_result& test, std::uint64_t order);
  void summarise();
  void compare_manifests();  // (compare_manifests.cpp)

  options how_;
  symbols names_;
  judged_run reference_;
  judged_run test_;
  std::map<update_key, std::int32_t> by_update_;                // weights and states of the reference
  std::vector<bool> open_;                                      // by capture of the test: not decided
  bool diverged_ = false;                                       // an earlier tensor already differs
  std::map<std::int32_t, source_state> sources_;                // by capture of the test
  std::vector<std::int32_t> twin_of_reference_, twin_of_test_;  // by capture: its partner, -1 none yet
  std::map<std::pair<std::int32_t, side>, passage> gaps_;       // by capture
  comparison result_;
  std::map<std::string, std::uint64_t> undecided_because_;
  benign rounding_, quantization_, order_, repeated_;
  std::optional<finding> first_beyond_;  // for when no rule names anything
};

}  // namespace numdiff::analysis
