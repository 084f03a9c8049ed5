// What an op wrote that nothing replays: only its distance from the reference is left, and an interval from
// the distances of the inputs, above which no honest op gets.
#include <algorithm>
#include <cmath>

#include "analysis/cast_losses.hpp"
#include "analysis/comparer.hpp"
#include "analysis/expect/accumulator.hpp"
#include "analysis/expect/stagnation.hpp"
#include "analysis/inherit.hpp"
#include "analysis/lookup.hpp"
#include "analysis/repeats.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// One number, or many that are alike, are off by a common factor for any reason.
bool varied(const merged_capture& m) {
  const auto n = static_cast<double>(m.count - m.excluded());
  return n >= 16 && m.sum_abs * m.sum_abs < 0.999 * n * m.sum_sq;
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

// Replay asks of these what their accumulator lost.
bool adds_numbers(std::string_view kind) {
  return kind == "sum" || kind == "mean";
}

// Kinds that add up no more than they tell.
bool elementwise(std::string_view kind) {
  constexpr std::string_view kinds[] = {"add",           "amax",           "argmax",
                                        "cast",          "copy",           "divide",
                                        "embedding",     "exponential",    "gelu",
                                        "gelu_gradient", "mask",           "maximum",
                                        "multiply",      "power",          "reciprocal_square_root",
                                        "relu",          "relu_gradient",  "rope",
                                        "scale",         "silu",           "silu_gradient",
                                        "square",        "square_root",    "subtract",
                                        "swiglu",        "swiglu_gradient"};
  return std::ranges::find(kinds, kind) != std::end(kinds);
}

bool to_nearest(const model::op_row& o) {
  return o.output_rounding == 0 || static_cast<rounding>(o.output_rounding) == rounding::nearest_even;
}

// How an op adds up in both runs. Where nobody tells how many addends there are, those of a row of what it
// reads first.
inner_sums sums_of(std::string_view kind, const model::op_row& reference, const model::op_row& test,
                   const std::vector<item>& all) {
  inner_sums how;
  how.batch = HUGE_VAL;
  for (const model::op_row* o : {&test, &reference}) {
    how.length = std::max(how.length, static_cast<double>(std::max<std::int64_t>(o->reduction_length, o->k)));
    how.batch = std::min(how.batch, static_cast<double>(std::max<std::int64_t>(o->batch, 1)));
    const auto told = static_cast<dtype>(o->accumulate_dtype);
    if (told == dtype::unknown || is_integer(told)) continue;
    const expect::accumulator sums = expect::accumulator_of(*o);
    (o == &test ? how.test_unit : how.reference_unit) = sums.unit();
    if (sums.split > 1) how.partial = std::max(how.partial, sums.partials.unit());
  }
  for (const item& in : all) {
    if (how.length > 1 || elementwise(kind)) break;
    if (in.counted && !in.any().written && in.any().role != role::scalar && !in.test_merged->shape.empty())
      how.length = std::max(how.length, static_cast<double>(in.test_merged->shape.back()));
  }
  return how;
}

}  // namespace

// How far apart what an op of this kind reads is in the two runs; nothing when that is not known.
std::optional<read_distance> comparer::read_apart(const item& in, std::string_view kind) {
  const merged_capture &r = *in.reference_merged, &t = *in.test_merged;
  read_distance one;
  const double reference_norm = std::sqrt(r.sum_sq);
  one.norm = std::max(reference_norm, std::sqrt(t.sum_sq));
  one.count = static_cast<double>(t.count);
  one.amax = std::max(r.amax, t.amax);
  one.repeats =
      (adds_numbers(kind) || kind == "matmul") && (repeats(reference_.index, r) || repeats(test_.index, t));
  one.over_deviation = std::max(over_deviation(r), over_deviation(t));
  if (in.verdict == verdict::equal) return one;
  distances d = in.apart;
  if (!d.from_values && !d.from_sketch) d = distance(r, t);
  if ((!d.from_values && !d.from_sketch) || d.contaminated) return std::nullopt;
  one.relative_l2 = reference_norm > 0 ? d.relative_l2 * reference_norm / one.norm : d.relative_l2;
  one.factor = d.factor;
  return one;
}

void comparer::judge_distance(item& x, const op_pair& pair, const std::vector<item>& all) {
  const merged_capture& r = *x.reference_merged;
  const merged_capture& t = *x.test_merged;
  const std::string_view kind = test_.index.kind_of(op_of(test_, pair.test));
  std::vector<read_distance> reads;
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
    const std::optional<read_distance> one = read_apart(in, kind);
    if (!one) return;
    reads.push_back(*one);
  }
  if (reads.empty() && diverged_) return;
  const bool unequal = std::ranges::any_of(reads, [](const read_distance& d) { return d.relative_l2 > 0; });
  const model::op_row& row = test_.index.op_row_of(op_of(test_, pair.test).members.front());
  const model::op_row& other_row =
      reference_.index.op_row_of(op_of(reference_, pair.reference).members.front());
  // Distances are relative to the reference; where that is zero, to the other run's.
  const bool zero = r.amax == 0;
  const double norm = std::sqrt(zero ? t.sum_sq : r.sum_sq) / alpha, count = static_cast<double>(t.count),
               apart = !zero          ? x.apart.relative_l2
                       : t.sum_sq > 0 ? 1
                                      : 0;
  const inner_sums how = sums_of(kind, other_row, row, all);
  const inner_limits inner = limits_of_rounding(kind, reads, how, norm, count);
  const double unit = std::max(unit_roundoff(r.type), unit_roundoff(t.type)), noise = unit + inner.usual;
  if (!std::isfinite(noise)) return;
  if ((is_integer(r.type) || is_integer(t.type)) && unequal) {
    x.reason = "whole numbers chosen from inputs that differ";
    return;
  }
  if ((!x.apart.from_values && !x.apart.from_sketch) || x.apart.contaminated) return;
  const double inherited = unequal ? inherited_bound(kind, reads, norm, count) : 0;
  // No input error makes one factor of all elements of a tensor, whatever the kind, but a factor of its own.
  const double away = std::abs(x.apart.factor - 1);
  const bool read_factor =
      std::ranges::any_of(reads, [&](const read_distance& d) { return std::abs(d.factor - 1) > away / 4; });
  const bool factor = varied(t) && !read_factor && x.apart.cosine > 0.9999 && away > 16 * unit + inner.most &&
                      away > 1e-2 && x.apart.factor_residual < 0.05 * away;
  if (!std::isfinite(inherited) && !factor) {
    x.reason = "inputs differ, and nothing bounds what this kind makes of it";
    return;
  }
  const bool scaled = reference_.index.capture_row_of(x.reference->members.front()).scaling != 0 ||
                      test_.index.capture_row_of(x.test->members.front()).scaling != 0;
  const double rounding = rounding_apart(kind, r, t, how, to_nearest(row) && to_nearest(other_row), scaled);
  const double bounds = (std::isfinite(inherited) ? inherited : 0) + rounding;
  x.limit = inner.independent ? std::hypot(bounds, inner.most) : bounds + inner.most;
  if (apart > x.limit) {
    x.verdict = verdict::beyond;
    x.reason = "farther apart than inputs and formats explain";
  } else if (const char* lost = what_cast_may_lose(kind, r, t, all, unequal)) {
    x.reason = lost;
  } else if (how.unit() > 0x1p-20 && adds_numbers(kind) && apart > expect::most_lost) {
    x.reason = "a declared accumulator of few bits may have lost addends";
  } else if (!unequal && apart <= 2 * noise) {
    x.verdict = verdict::within;
  }
}

}  // namespace numdiff::analysis
