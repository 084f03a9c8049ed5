// What an op wrote: decided by its replay, else by the distance between the runs.
#include <algorithm>
#include <cmath>

#include "analysis/cast_losses.hpp"
#include "analysis/comparer.hpp"
#include "analysis/expect/accumulator.hpp"
#include "analysis/expect/stagnation.hpp"
#include "analysis/inherit.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

bool is_beyond(const local_judgement* j) {
  return j != nullptr && j->worst.v == verdict::beyond;
}

// One number, or many that are alike, are off by a common factor for any reason.
bool varied(const merged_capture& m) {
  const auto n = static_cast<double>(m.count - m.excluded());
  return n >= 16 && m.sum_abs * m.sum_abs < 0.999 * n * m.sum_sq;
}

// Replay asks of these what their accumulator lost.
bool adds_numbers(std::string_view kind) {
  return kind == "sum" || kind == "mean";
}

// What the rounding of both results adds to their distance. Sums and products have bounds for all else, so
// that each run is off by no more than its unit roundoff where its results are floats with a range of their
// own.
double rounding_apart(std::string_view kind, const merged_capture& r, const merged_capture& t,
                      const inner_sums& how, bool nearest, bool scaled) {
  const double widest = 16 * std::max(unit_roundoff(r.type), unit_roundoff(t.type));
  const bool adds = kind == "add" || kind == "subtract";
  const bool bounded = adds || kind == "sum" || kind == "mean" || kind == "matmul";
  if (!bounded || scaled || r.partial || t.partial) return widest;
  double sum = 0;
  for (const merged_capture* m : {&r, &t}) {
    const format f = format_of(m->type);
    if (!f.is_float() || f.bits < 16 || !(m->sum_sq > 0)) return widest;
    const double subnormal =
        std::ldexp(1.0, f.min_exponent()) * std::sqrt(static_cast<double>(m->count) / m->sum_sq);
    // What is stored is rounded already, by the last addition, or again.
    const double last = unit_roundoff(m->type), inner = m == &r ? how.reference_unit : how.test_unit,
                 unit = (last > inner ? last : 0) + (adds ? inner : 0);
    sum += (nearest ? 1 : 2) * unit + subnormal;
  }
  return std::min(widest, sketch_error * sum);
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

  // Without replay only the distance from the reference is left: an interval from the distances of
  // the inputs, above which no honest op gets.
  x.verdict = verdict::undecided;
  x.reason = test.done ? "no expectation for this tensor" : test.why_not;
  if (!same_update) return;
  std::vector<read_distance> reads;
  bool unequal = false;
  double alpha = 1;
  for (const item& in : all) {
    if (!in.counted || in.any().written) continue;
    if (in.any().role == role::scalar) {
      if (names_.text(in.test->name) == "fill" && in.verdict != verdict::equal) {
        x.reason = "hidden places, filled with other numbers, weigh in its distance";
        return;
      }
      if (names_.text(in.test->name) == "alpha")
        alpha = std::max(alpha, std::abs(scalar_of(test_.index.capture_row_of(in.test->members.front()))));
      continue;
    }
    read_distance one;
    const double reference_norm = std::sqrt(in.reference_merged->sum_sq);
    one.norm = std::max(reference_norm, std::sqrt(in.test_merged->sum_sq));
    one.count = static_cast<double>(in.test_merged->count);
    one.amax = std::max(in.reference_merged->amax, in.test_merged->amax);
    if (in.verdict != verdict::equal) {
      distances d = in.apart;
      if (!d.from_values && !d.from_sketch) d = distance(*in.reference_merged, *in.test_merged);
      if ((!d.from_values && !d.from_sketch) || d.contaminated) return;
      one.relative_l2 = reference_norm > 0 ? d.relative_l2 * reference_norm / one.norm : d.relative_l2;
      unequal = unequal || d.relative_l2 > 0;
    }
    reads.push_back(one);
  }
  if (reads.empty() && diverged_) return;
  const model::op_row& row = test_.index.op_row_of(op_of(test_, pair.test).members.front());
  const model::op_row& other_row =
      reference_.index.op_row_of(op_of(reference_, pair.reference).members.front());
  // Distances are relative to the reference, which may be the smaller one where results cancel.
  const double norm = std::sqrt(std::min(r.sum_sq, t.sum_sq)) / alpha, count = static_cast<double>(t.count);
  const std::string_view kind = test_.index.kind_of(op_of(test_, pair.test));
  inner_sums how;
  how.batch = HUGE_VAL;
  for (const model::op_row* o : {&row, &other_row}) {
    how.length = std::max(how.length, static_cast<double>(std::max<std::int64_t>(o->reduction_length, o->k)));
    how.batch = std::min(how.batch, static_cast<double>(std::max<std::int64_t>(o->batch, 1)));
    const auto told = static_cast<dtype>(o->accumulate_dtype);
    if (told == dtype::unknown || is_integer(told)) continue;
    const expect::accumulator sums = expect::accumulator_of(*o);
    (o == &row ? how.test_unit : how.reference_unit) = sums.unit();
    if (sums.split > 1) how.partial = std::max(how.partial, sums.partials.unit());
  }
  const inner_limits inner = limits_of_rounding(kind, reads, how, norm, count);
  const double unit = std::max(unit_roundoff(r.type), unit_roundoff(t.type)), noise = unit + inner.usual;
  if (!std::isfinite(noise)) return;
  if ((is_integer(r.type) || is_integer(t.type)) && unequal) {
    x.reason = "whole numbers chosen from inputs that differ";
    return;
  }
  if ((!x.apart.from_values && !x.apart.from_sketch) || x.apart.contaminated) return;
  const double inherited = unequal ? inherited_bound(kind, reads, norm, count) : 0;
  // No input error makes one factor of all elements of a tensor, whatever the kind.
  const bool factor =
      varied(t) && x.apart.cosine > 0.9999 && std::abs(x.apart.factor - 1) > 16 * unit + inner.most &&
      std::abs(x.apart.factor - 1) > 1e-2 && x.apart.factor_residual < 0.05 * std::abs(x.apart.factor - 1);
  if (!std::isfinite(inherited) && !factor) {
    x.reason = "inputs differ, and nothing bounds what this kind makes of it";
    return;
  }
  const auto to_nearest = [](const model::op_row& o) {
    return o.output_rounding == 0 || static_cast<rounding>(o.output_rounding) == rounding::nearest_even;
  };
  const bool scaled = reference_.index.capture_row_of(x.reference->members.front()).scaling != 0 ||
                      test_.index.capture_row_of(x.test->members.front()).scaling != 0;
  const double rounding = rounding_apart(kind, r, t, how, to_nearest(row) && to_nearest(other_row), scaled);
  const double bounds = (std::isfinite(inherited) ? inherited : 0) + rounding;
  x.limit = inner.independent ? std::hypot(bounds, inner.most) : bounds + inner.most;
  if (x.apart.relative_l2 > x.limit) {
    x.verdict = verdict::beyond;
    x.reason = "farther apart than inputs and formats explain";
  } else if (const char* lost = what_cast_may_lose(kind, r, t, all, unequal)) {
    x.reason = lost;
  } else if (how.unit() > 0x1p-20 && adds_numbers(kind) && x.apart.relative_l2 > expect::most_lost) {
    x.reason = "a declared accumulator of few bits may have lost addends";
  } else if (!unequal && x.apart.relative_l2 <= 2 * noise) {
    x.verdict = verdict::within;
  }
}

}  // namespace numdiff::analysis
