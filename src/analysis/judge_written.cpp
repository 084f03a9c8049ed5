// What an op wrote: decided by its replay, else by the distance between the runs.
#include <cmath>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace numdiff::analysis {

namespace {

bool is_beyond(const local_judgement* j) {
  return j != nullptr && j->worst.v == verdict::beyond;
}

}  // namespace

std::optional<measured> comparer::values_apart(const merged_capture& reference, const merged_capture& test) {
  return measure_values(reference_.index, reference, reference_.placements, test_.index, test,
                        test_.placements);
}

// From values where both runs kept them, otherwise estimated from sketches.
distances comparer::distance(const merged_capture& reference, const merged_capture& test) {
  const std::optional<measured> values = values_apart(reference, test);
  return values ? values->apart : measure_sketches(reference_.index, reference, test_.index, test);
}

// A constant as each run's arithmetic holds it: the one is the other, rounded to f32 by an op whose
// arithmetic is not wider.
bool comparer::rounded_to_its_op(const item& x, double reference, double test) const {
  const auto explains = [](const judged_run& run, const logical_capture* c, double exact, double held) {
    const model::op_row& op = run.index.op_row_of(run.index.ops()[c->op].members.front());
    const auto inner = static_cast<dtype>(op.accumulate_dtype);
    return inner != dtype::unknown && inner != dtype::f64 && held != 0 &&
           decode(dtype::f32, encode(dtype::f32, exact)) == held;
  };
  if (is_integer(x.reference_merged->type) || is_integer(x.test_merged->type)) return false;
  return explains(test_, x.test, reference, test) || explains(reference_, x.reference, test, reference);
}

void comparer::judge_scalar(item& x) {
  const double r = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
  const double t = scalar_of(test_.index.capture_row_of(x.test->members.front()));
  const std::string& name = names_.text(x.test->name);
  const bool wide =
      is_wide_integer(x.reference_merged->type) && x.reference_merged->type == x.test_merged->type;
  const bool same = wide ? x.reference_merged->digest == x.test_merged->digest : r == t;
  if (same || (std::isnan(r) && std::isnan(t))) {
    x.verdict = verdict::equal;
    return;
  }
  // A constant of the program as fp32 holds it, unless both runs compute in more.
  const auto in_double = [](const judged_run& run, const logical_capture& c) {
    const model::op_row& row = run.index.op_row_of(run.index.ops()[c.op].members.front());
    return static_cast<dtype>(row.accumulate_dtype) == dtype::f64;
  };
  if (!(in_double(reference_, *x.reference) && in_double(test_, *x.test)) && !wide &&
      static_cast<float>(r) == static_cast<float>(t) && std::isfinite(r) && std::isfinite(t)) {
    x.verdict = verdict::within;
    return;
  }
  if (const std::optional<measured> values = values_apart(*x.reference_merged, *x.test_merged)) {
    x.apart = values->apart;
  } else {
    x.apart.from_values = true;
    x.apart.worst_absolute = std::abs(t - r);
    x.apart.relative_l2 = r == 0 ? HUGE_VAL : std::abs(t - r) / std::abs(r);
  }
  // Known factors, counts per rank, times and the number of updates may differ between honest runs.
  const bool factor = name == "factor" || name == "count" || name == "loss_scale" || name == "seconds" ||
                      (name == "update" && (reference_.index.skips() || test_.index.skips()));
  x.verdict = factor || rounded_to_its_op(x, r, t) ? verdict::within : verdict::beyond;
}

void comparer::judge_written(item& x, const op_pair& pair, const local_result& reference,
                             const local_result& test, const std::vector<item>& all) {
  const merged_capture& r = *x.reference_merged;
  const merged_capture& t = *x.test_merged;
  const bool skipped = test_.index.skipped(op_of(test_, pair.test).step) ||
                       reference_.index.skipped(op_of(reference_, pair.reference).step);
  if (equal(r, t)) {
    x.verdict = verdict::equal;
    return;
  }
  const std::int64_t updates[] = {op_of(reference_, pair.reference).update, op_of(test_, pair.test).update};
  const bool same_update = updates[0] == updates[1] || updates[0] < 0 || updates[1] < 0;  // not told: -1
  if (same_update && !r.local && !t.local && r.covered && t.covered && r.count == t.count)
    x.apart = distance(r, t);

  const local_judgement* own = judgement_of(test, position(test_, x.test));
  const local_judgement* other = judgement_of(reference, position(reference_, x.reference));
  if (own != nullptr && same_nonfinite(own, other)) {
    x.verdict = verdict::within;
    x.reason = "non-finite alike in both runs";
    return;
  }
  if ((is_beyond(own) || is_beyond(other)) && !skipped) {
    x.verdict = verdict::beyond;
    return;
  }
  const std::string_view does = test_.index.kind_of(op_of(test_, pair.test));
  const bool masks = (own != nullptr && other != nullptr) || does == "mask" || does == "add";
  const bool addends = r.partial || t.partial;
  // As many may stand at other places.
  const bool elsewhere = x.apart.from_values && x.apart.nan_mismatch + x.apart.inf_mismatch > 0;
  const bool nonfinite_differs = addends ? (r.nonfinite() > 0) != (t.nonfinite() > 0)
                                         : elsewhere || r.nan != t.nan ||
                                               r.positive_infinity != t.positive_infinity ||
                                               r.negative_infinity != t.negative_infinity;
  if (nonfinite_differs && !(masks && only_fills_differ(x)) && !skipped && r.covered && t.covered &&
      r.count == t.count && !r.local && !t.local) {
    x.verdict = verdict::beyond;
    x.reason = "non-finite in one run only";
    return;
  }
  if (skipped && (nonfinite_differs || is_beyond(own) || is_beyond(other))) {
    x.verdict = verdict::within;
    x.reason = "non-finite gradients of a skipped step";
    return;
  }
  // Replay computes in floating point, where neighbours among large integers are one number.
  const auto exact = [](const merged_capture& c) { return !is_wide_integer(c.type) || c.amax < 0x1p53; };
  x.other_meaning = own != nullptr && other != nullptr && own->worst.choice != other->worst.choice;
  if (own != nullptr && own->worst.v == verdict::within && exact(r) && exact(t) && !x.other_meaning) {
    x.verdict = verdict::within;
    return;
  }
  if (!r.local && !t.local && (!r.covered || !t.covered)) {
    const held there =
        compare_held({reference_.index, r, reference_.placements}, {test_.index, t, test_.placements});
    const bool chosen = r.selected && t.selected && r.count == t.count;
    x.verdict = chosen ? verdict::undecided : verdict::not_comparable;
    x.reason = there == held::agrees ? parts_missing_but_agree : chosen ? parts_chosen : parts_missing;
    return;
  }
  if (r.local || t.local || r.count != t.count) {
    x.verdict = verdict::not_comparable;
    x.reason = r.local || t.local ? "rank-local tensors without a placement" : "other element counts";
    return;
  }

  x.verdict = verdict::undecided;
  x.reason = test.done ? "no expectation for this tensor" : test.why_not;
  if (same_update) judge_distance(x, pair, all);
}

}  // namespace numdiff::analysis
