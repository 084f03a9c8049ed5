// States that one run's format does not let move, in ops that have no replay: what the other run did to the
// same state tells the size of the step.
#include <string>
#include <string_view>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

constexpr double most = 0.9;  // of the elements that the other run moved

// How a state moved in one run.
struct movement {
  bool known = false, moved = false;
  double kept = 0;  // share of its elements that are as before
  double size = 0;  // of the step, over that of the state
};

movement movement_of(const judged_run& run, const merged_capture& before, const merged_capture& after) {
  movement m;
  if (before.type != after.type || before.local || after.local || before.count == 0) return m;
  const auto values = measure_values(run.index, before, run.placements, run.index, after, run.placements);
  const bool same = before.has_digest && after.has_digest && before.digest == after.digest;
  const distances d = values ? values->apart : measure_sketches(run.index, before, run.index, after);
  m.known = (d.from_values || (d.from_sketch && !d.contaminated)) && d.nan_mismatch + d.inf_mismatch == 0;
  m.moved = values ? d.different > 0 : !same;
  if (values && d.compared > 0)
    m.kept = 1 - static_cast<double>(d.different) / static_cast<double>(d.compared);
  else
    m.kept = same ? 1 : 0;
  m.size = d.relative_l2;
  return m;
}

// What an op wrote of a state or weight that it reads: of the same name, or of that name with ".new".
bool is_before(std::string_view before, std::string_view after) {
  constexpr std::string_view suffix = ".new";
  return before == after ||
         (after.ends_with(suffix) && after.substr(0, after.size() - suffix.size()) == before);
}

}  // namespace

void comparer::judge_steps(std::vector<item>& items, const local_result& reference,
                           const local_result& test) {
  for (item& x : items) {
    if (!x.counted || !x.any().written || x.verdict == verdict::equal) continue;
    if (judgement_of(test, position(test_, x.test)) != nullptr ||
        judgement_of(reference, position(reference_, x.reference)) != nullptr)
      continue;
    if (test_.index.skipped(test_.index.ops()[x.test->op].step)) continue;
    for (const item& from : items) {
      const bool state = from.any().role == role::state || from.any().role == role::weight;
      if (!from.counted || from.any().written || !state) continue;
      if (!is_before(names_.text(from.test->name), names_.text(x.test->name))) continue;
      const movement r = movement_of(reference_, *from.reference_merged, *x.reference_merged),
                     t = movement_of(test_, *from.test_merged, *x.test_merged);
      if (!r.known || !t.known) continue;
      x.test_unmoved =
          t.kept >= most && r.kept < 1 - most && r.moved && r.size <= unit_roundoff(x.test_merged->type);
      x.reference_unmoved =
          r.kept >= most && t.kept < 1 - most && t.moved && t.size <= unit_roundoff(x.reference_merged->type);
    }
  }
}

}  // namespace numdiff::analysis
