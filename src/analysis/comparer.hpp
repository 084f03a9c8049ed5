#pragma once
// Walks two aligned runs in execution order and judges op by op.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analysis/align.hpp"
#include "analysis/bridge.hpp"
#include "analysis/comparison.hpp"
#include "analysis/inherit.hpp"
#include "analysis/judged_run.hpp"
#include "analysis/measure.hpp"
#include "analysis/next_capture.hpp"
#include "analysis/rules.hpp"

namespace numdiff::analysis {

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
  bool test_lost = false, reference_lost = false;        // most of what it should hold (lost.cpp)
  bool other_meaning = false;                            // the runs reduce other dimensions of one shape
  bool test_unmoved = false, reference_unmoved = false;  // by a step of the other run (lost_steps.cpp)
  // Where good runs told their distance (judge_noise.cpp).
  bool settled = false;         // within it: no rule is asked
  bool repeats_differ = false;  // two executions of one program do as well
  bool carried = false;         // so is what the op reads
  double noise_limit = 0;       // beyond it: what it may be; 0 it is not

  [[nodiscard]] const logical_capture& any() const { return test != nullptr ? *test : *reference; }
};

// Why a source stays undecided that values would decide.
inline constexpr const char* levels_do_not_compare = "the recorded levels do not compare";

// Why tensors are not comparable of which ranks that are not there held parts.
inline constexpr const char* parts_chosen = "only some of its indices are held, and which is not stored";
inline constexpr const char* parts_missing = "parts of ranks that are not there";
inline constexpr const char* parts_missing_but_agree = "parts of ranks that are not there; the others agree";

// What good runs say about a pair.
struct noise {
  double distance = 0, limit = 0;
  double local_error = 0;  // of the trusted run's own op, 0 not known
  bool repeats_differ = false;
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
  void note_wishes(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                   const local_result& test, std::uint64_t order);

  // regions that one run fuses (judge_regions.cpp)
  void judge_regions(std::vector<op_pair>& pairs);
  void judge_shared_reads(const op_pair& pair, std::uint64_t order);

  // writes (judge_written.cpp)
  void judge_written(item& x, const op_pair& pair, const local_result& reference, const local_result& test,
                     const std::vector<item>& all);
  // (judge_distance.cpp)
  void judge_distance(item& x, const op_pair& pair, const std::vector<item>& all);
  std::optional<read_distance> read_apart(const item& in, std::string_view kind);
  void judge_scalar(item& x);
  [[nodiscard]] bool rounded_to_its_op(const item& x, double reference, double test) const;
  std::optional<measured> values_apart(const merged_capture& reference, const merged_capture& test);
  distances distance(const merged_capture& reference, const merged_capture& test);
  void judge_factors(std::vector<item>& items);  // (factors.cpp)
  // masks that hide by other numbers (masks.cpp)
  enum class mask_pair { no, perhaps, yes };
  void judge_fills(std::vector<item>& items);
  mask_pair same_masks(const merged_capture& reference, const merged_capture& test);
  [[nodiscard]] bool only_fills_differ(const item& x) const;
  void note_flips(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                  const local_result& test, std::uint64_t order);  // (flips.cpp)
  void judge_lost(std::vector<item>& items, const local_result& reference,
                  const local_result& test);  // (lost.cpp)
  void judge_steps(std::vector<item>& items, const local_result& reference,
                   const local_result& test);  // (lost_steps.cpp)

  // scales that one run has alone (lone_factors.cpp)
  void note_lone_factors(const std::vector<op_pair>& pairs);
  [[nodiscard]] double lone_factor(side where, const logical_op& op) const;
  [[nodiscard]] std::vector<std::int32_t> readers_of(side where, const logical_op& op) const;
  distances apart(std::int32_t reference, std::int32_t test);
  bool does_harm(std::int32_t test_read);

  std::optional<noise> noise_of(const item& x);  // (judge_noise.cpp)
  void judge_noise(std::vector<item>& items, const op_pair& pair, const local_result& test);

  // findings (find.cpp, evidence.cpp)
  void find(std::vector<item>& items, const op_pair& pair, const local_result& reference,
            const local_result& test, std::uint64_t order);
  evidence evidence_of(const item& x, const op_pair& pair, side where, const std::vector<item>& all,
                       const local_result& local) const;
  void blame(evidence& e, const item& x) const;

  // reads (judge_read.cpp)
  void judge_read(item& x, const op_pair& pair);
  source_state state_of_source(item& x, const op_pair& pair, bool must_agree);
  bool agrees_behind_casts(const op_pair& pair, std::int32_t test_at, std::int32_t reference_at,
                           bool must_agree);
  const merged_capture* partner_by_update(item& x, const op_pair& pair);

  // on the way from writer to reader (passage.cpp)
  struct passage {
    analysis::gap gap = analysis::gap::none;
    std::int32_t writer = -1;  // the capture of the same run that the read should stem from
  };
  [[nodiscard]] bool reads_other_tensor(std::int32_t capture, std::int32_t partner) const;
  passage passage_of(std::int32_t capture, std::int32_t partner, side where);
  bool keeps_numbers(side where, std::int32_t before, std::int32_t after);
  std::int32_t expected_writer(std::int32_t partner, side where) const;

  // the answer (compare.cpp)
  void note_losses(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                   const local_result& test, std::uint64_t order);
  void note_given(const item& x, std::uint64_t order);
  void summarise();
  void compare_manifests();  // (compare_manifests.cpp)

  options how_;
  symbols names_;
  judged_run reference_;
  judged_run test_;
  std::map<update_key, std::int32_t> by_update_;                // weights and states of the reference
  std::vector<bool> open_;                                      // by capture of the test: not decided
  std::vector<bool> off_;                                       // by capture of the test: beyond
  bool diverged_ = false;                                       // an earlier tensor already differs
  std::map<std::int32_t, source_state> sources_;                // by capture of the test
  std::vector<std::int32_t> twin_of_reference_, twin_of_test_;  // by capture: its partner, -1 none yet
  std::map<std::pair<std::int32_t, side>, passage> gaps_;       // by capture
  using op_on_side = std::pair<side, std::int32_t>;
  std::map<op_on_side, local_result> bridged_;              // fused ops
  std::map<op_on_side, std::vector<capture_pair>> shared_;  // what fused ops read as their parts do
  std::map<op_on_side, std::string> apart_;                 // why an op was not bridged
  std::set<std::pair<side, std::int32_t>> unjudged_;        // captures of fused ops that no part wrote
  comparison result_;
  std::map<std::string, std::uint64_t> undecided_because_;
  benign rounding_, quantization_, order_, repeated_, nondeterministic_;
  capture_wishes wishes_;
  std::optional<finding> first_beyond_;  // for when no rule names anything
};

}  // namespace numdiff::analysis
