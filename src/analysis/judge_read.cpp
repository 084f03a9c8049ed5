// What an op read: decided by who wrote it, or, for a source, by the reference.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>

#include "analysis/bag.hpp"
#include "analysis/comparer.hpp"
#include "analysis/expect/grid.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// What rounding among the subnormal numbers of a format adds to the distance, over the norm.
double steps_of_subnormals(dtype type, const merged_capture& of) {
  const double norm = std::sqrt(of.sum_sq);
  if (!(norm > 0) || is_integer(type)) return 0;
  return 0.5 * expect::grid_of(type).smallest() * std::sqrt(static_cast<double>(of.count)) / norm;
}

bool scaled(const run_index& run, const logical_capture& c) {
  return run.capture_row_of(c.members.front()).scaling != 0;
}

// Whether whole numbers that an op reads stand for places and not for amounts: those of a format of integers,
// those of kinds that look something up by them, and evenly spaced ones. Large floats are whole, too.
bool are_places(std::string_view kind, bool integers, const measured& values) {
  constexpr std::string_view by_place[] = {"cross_entropy", "cross_entropy_gradient", "embedding",
                                           "embedding_gradient", "rope"};
  return values.integral &&
         (integers || values.steady || std::ranges::find(by_place, kind) != std::end(by_place));
}

// Unit roundoff of the coarser of two formats of codes; of integers that of the floats of their size.
double code_unit(dtype a, dtype b) {
  const auto unit = [](dtype t) {
    return !is_integer(t) ? unit_roundoff(t) : format_of(t).bits > 4 ? 0x1p-4 : 0x1p-2;
  };
  return std::max(unit(a), unit(b));
}

constexpr double near_by = 1e-6;  // sums that agree to 1e-12 do not tell such distances from none

// The same codes, which other scales turn into other values.
bool same_codes(const merged_capture& a, const merged_capture& b) {
  constexpr std::int64_t enough = 16;  // fewer may be alike by chance
  return a.has_digest && b.has_digest && a.type == b.type && a.shape == b.shape && b.count >= enough &&
         2 * b.zero <= b.count && std::equal(a.digest.begin(), a.digest.begin() + 2, b.digest.begin()) &&
         (a.digest != b.digest || a.global_scale != b.global_scale);
}

// Nothing of it is left in a narrower format.
bool vanishes(const merged_capture& reference, const merged_capture& test) {
  return reference.type != test.type && reference.amax > 0 && test.amax == 0 && test.excluded() == 0;
}

// Addends are rounded one by one: what their sum may be off by, over the size of the sum.
double rounded_addends(const merged_capture& a, const merged_capture& b, const distances& apart,
                       double unit) {
  double most = 0;
  for (const merged_capture* m : {&a, &b}) {
    const double each = std::sqrt(static_cast<double>(m->parts.size()) * m->sum_sq);
    most = std::max(most, unit * m->part_scale / std::abs(m->pending_factor) * each);
  }
  return most / apart.reference_l2;
}

}  // namespace

const merged_capture* comparer::partner_by_update(item& x, const op_pair& pair) {
  const logical_op& r = reference_.index.ops()[static_cast<std::size_t>(pair.reference)];
  const logical_op& t = test_.index.ops()[static_cast<std::size_t>(pair.test)];
  if (r.update == t.update || by_update_.empty() || x.test->role == role::input) return &*x.reference_merged;
  const auto at = by_update_.find(
      {t.scope, t.name, t.call, t.micro_batch, t.phase, x.test->role, x.test->name, t.update});
  if (at == by_update_.end()) return nullptr;
  x.reference = &reference_.index.captures()[static_cast<std::size_t>(at->second)];
  x.reference_merged = merge(reference_.index, *x.reference, reference_.placements);
  return &*x.reference_merged;
}

source_state comparer::state_of_source(item& x, const op_pair& pair, bool must_agree) {
  const merged_capture* r = partner_by_update(x, pair);
  const merged_capture& t = *x.test_merged;
  const auto undecided = [&](const char* why) {
    x.verdict = verdict::undecided;
    x.reason = why;
    return source_state::none;
  };
  if (r == nullptr) return undecided("the reference has no weights after this many updates");
  if (equal(*r, t)) {
    x.verdict = verdict::equal;
    return source_state::agrees;
  }
  const logical_op& op = test_.index.ops()[static_cast<std::size_t>(pair.test)];
  const bool weight = x.test->role == role::weight || x.test->role == role::state;
  // Codes of a scaling stand for numbers, of whatever format they are.
  const bool coded[] = {scaled(reference_.index, *x.reference), scaled(test_.index, *x.test)};
  const bool integers = (is_integer(r->type) && !coded[0]) || (is_integer(t.type) && !coded[1]);
  const bool quantised = coded[0] || coded[1];
  // Weights agree until the first update; later, and for tensors that earlier differences may have
  // reached, only equal runs must. An update that is not told (-1) may have come after the first step.
  const bool early = op.update == 0 || (op.update < 0 && op.step == test_.index.first_step());
  const bool strict = must_agree && (integers || op.outside || !diverged_ ||
                                     (weight && early && op.phase != phase::backward));

  if (r->local || t.local) {
    x.verdict = verdict::not_comparable;
    x.reason = "rank-local tensors without a placement";
    return source_state::none;
  }
  if (!r->covered || !t.covered) {
    const held there =
        compare_held({reference_.index, *r, reference_.placements}, {test_.index, t, test_.placements});
    const bool chosen = r->selected && t.selected && r->count == t.count;
    x.verdict = there == held::differs && strict ? verdict::beyond
                : chosen                         ? verdict::undecided
                                                 : verdict::not_comparable;
    x.reason = there == held::agrees ? parts_missing_but_agree : chosen ? parts_chosen : parts_missing;
    return x.verdict == verdict::beyond ? source_state::differs : source_state::none;
  }
  if (r->count != t.count) {
    x.verdict = verdict::beyond;  // of another shape
    return source_state::none;
  }
  switch (same_masks(*r, t)) {
    case mask_pair::yes: x.verdict = verdict::within; return source_state::agrees;
    case mask_pair::perhaps: return undecided("masks that may hide other places");
    case mask_pair::no: break;
  }
  const std::optional<measured> values = values_apart(*r, t);
  const double unit = std::max(unit_roundoff(r->type), unit_roundoff(t.type));
  const double finest = std::min(unit_roundoff(r->type), unit_roundoff(t.type));  // both may be rounded
  const dtype coarser = unit_roundoff(r->type) > unit_roundoff(t.type) ? r->type : t.type;
  // Digests of one form that differ are different values; sketches round.
  const bool same_form = !r->partial && !t.partial && r->has_digest && t.has_digest && r->type == t.type &&
                         r->shape == t.shape && r->covered && t.covered &&
                         r->pending_factor == t.pending_factor;
  const bool addends = r->partial || t.partial;
  bool agrees = false, known = true;
  if (values) {
    x.apart = values->apart;
    const bool masks = x.apart.nan_mismatch + x.apart.inf_mismatch == 0;
    if (integers)
      agrees = masks && x.apart.different == 0;
    else if (addends)  // every addend was rounded, and the ranks may have other addends
      agrees = masks && x.apart.worst_absolute <= 2 * unit *
                                                      (r->amax * static_cast<double>(r->parts.size()) +
                                                       t.amax * static_cast<double>(t.parts.size()));
    else if (quantised)
      agrees = masks && x.apart.relative_l2 <= 4 * code_unit(r->type, t.type);
    else if (r->type == t.type)
      agrees = masks && x.apart.different == 0;
    else
      agrees = masks && x.apart.worst_ulp <= 0.501 + 0.5 * finest / unit;
    x.limit = integers || r->type == t.type ? 0 : unit;
    // Positions and counters: exact in the reference, neighbours collide here.
    if (r->type != t.type && x.apart.different > 0 && masks &&
        are_places(test_.index.kind_of(op), integers, *values) &&
        values->largest > std::ldexp(1.0, std::max(1, format_of(coarser).precision())) &&
        x.apart.worst_ulp <= 1.001) {
      x.verdict = verdict::beyond;
      return source_state::rounded_integers;
    }
  } else if (same_form && !quantised) {
    agrees = false;
  } else if (r->has_sketch && t.has_sketch) {
    x.apart = measure_sketches(reference_.index, *r, test_.index, t);
    if (x.apart.contaminated) known = false;
    const double one_rounding = unit + steps_of_subnormals(r->type, *r) + steps_of_subnormals(t.type, *r);
    const double allowed = integers ? 0
                           : addends
                               ? std::max(16 * unit, sketch_error * rounded_addends(*r, t, x.apart, unit))
                           : quantised         ? 4 * code_unit(r->type, t.type)
                           : r->type == t.type ? 0
                                               : one_rounding;
    agrees = x.apart.relative_l2 <= allowed;
    x.limit = allowed;
  } else if (same_form) {
    agrees = false;
  } else {
    known = false;
  }
  if (op.outside && known && !agrees) {
    // A tensor between ops that nobody captured: only a gross distance says anything.
    const double gross = r->type == t.type ? 1e3 * unit : 64 * unit;
    if (!integers && x.apart.nan_mismatch + x.apart.inf_mismatch == 0 && x.apart.relative_l2 <= gross) {
      return undecided("a tensor outside any op");
    }
  }
  if (!known) return undecided(levels_do_not_compare);
  // Scales of another dtype, or inverted, are the same scales.
  constexpr double same_scales = 0x1p-7;
  if (same_codes(*r, t) && !(x.apart.relative_l2 <= same_scales)) {
    x.verdict = verdict::beyond;
    return source_state::rescaled;
  }
  if (agrees && (strict || t.count == 1) && vanishes(*r, t)) {
    x.verdict = verdict::beyond;
    return source_state::vanished;
  }
  if (agrees) {
    x.verdict = verdict::within;
    return source_state::agrees;
  }
  // One set of codes under two names.
  if (r->type != t.type && bytes_of(r->type) == bytes_of(t.type) && r->has_digest && t.has_digest &&
      r->digest == t.digest && r->shape == t.shape && t.amax > 0) {
    x.verdict = verdict::beyond;
    return source_state::reinterpreted;
  }
  // Numbers at other places are far from those of the reference; near ones have nearly equal sums as well.
  const bool measured_apart = x.apart.from_values || x.apart.from_sketch;
  const auto far = [&](double distance) { return !measured_apart || x.apart.relative_l2 > distance; };
  if (far(near_by) && same_bag(*r, t)) {
    x.verdict = verdict::beyond;
    return source_state::permuted;
  }
  if (!strict) return undecided("no captured op wrote it");
  x.verdict = verdict::beyond;
  if (!values) x.apart = measure_sketches(reference_.index, *r, test_.index, t);
  if (r->type != t.type && far(8 * unit) && same_bag_rounded(reference_.index, *r, test_.index, t))
    return source_state::permuted;
  if (t.repeats_part && !r->repeats_part && r->parts.size() <= t.parts.size()) return source_state::permuted;
  return source_state::differs;
}

void comparer::judge_read(item& x, const op_pair& pair) {
  const auto test_at = static_cast<std::int32_t>(x.test - test_.index.captures().data());
  const auto reference_at = static_cast<std::int32_t>(x.reference - reference_.index.captures().data());
  if (equal(*x.reference_merged, *x.test_merged)) {
    x.verdict = verdict::equal;
    return;
  }
  const passage own = passage_of(test_at, reference_at, side::test);
  const passage other = passage_of(reference_at, test_at, side::reference);
  if (own.gap != gap::none) gaps_[{test_at, side::test}] = own;
  if (other.gap != gap::none) gaps_[{reference_at, side::reference}] = other;
  if (own.gap != gap::none || other.gap != gap::none) {
    x.verdict = verdict::beyond;
    x.reason = "changed between its writer and this op";
    return;
  }
  const link& from = test_.flow.of(test_at).from;
  // Both runs read what one pair of ops wrote, whatever these pass on.
  const std::int32_t twin =
      from.origin == origin::written ? twin_of_test_[static_cast<std::size_t>(from.from)] : -1;
  const bool from_partners = twin >= 0 && reference_.flow.of(reference_at).from.from == twin;
  if (own.writer >= 0 || from_partners || from.origin == origin::read || test_.flow.computed(test_at)) {
    // Its writer carries the judgement, or nobody has one.
    const std::int32_t writer = own.writer >= 0 ? own.writer : from.from;
    const bool open = writer >= 0 && open_[static_cast<std::size_t>(writer)];
    x.verdict = open ? verdict::undecided : verdict::within;
    if (open) x.reason = "written by an op that is undecided";
    if (x.reference_merged->nonfinite() != x.test_merged->nonfinite() && !only_fills_differ(x) &&
        !test_.index.skipped(test_.index.ops()[x.test->op].step)) {
      x.verdict = verdict::beyond;
      x.reason = "non-finite in one run only, written by an earlier op";
    }
    return;
  }
  // Where the reference has a writer that this run did not capture, nothing promises that they agree.
  const bool must_agree = !reference_.flow.computed(reference_at);
  source_state state = state_of_source(x, pair, must_agree);
  if (state != source_state::agrees && agrees_behind_casts(pair, test_at, reference_at, must_agree)) {
    x.verdict = verdict::within;
    state = source_state::agrees;
  }
  sources_[test_at] = state;
}

// A source that a run rounds to a narrow format and widens again is the other run's source, rounded to the
// narrow one.
bool comparer::agrees_behind_casts(const op_pair& pair, std::int32_t test_at, std::int32_t reference_at,
                                   bool must_agree) {
  const std::int32_t t = test_.flow.behind_casts(test_at), r = reference_.flow.behind_casts(reference_at);
  if (t == test_at && r == reference_at) return false;
  if (!keeps_numbers(side::test, t, test_at) || !keeps_numbers(side::reference, r, reference_at))
    return false;
  item source;
  source.test = &test_.index.captures()[static_cast<std::size_t>(t)];
  source.reference = &reference_.index.captures()[static_cast<std::size_t>(r)];
  source.test_merged = merge(test_.index, *source.test, test_.placements);
  source.reference_merged = merge(reference_.index, *source.reference, reference_.placements);
  return state_of_source(source, pair, must_agree) == source_state::agrees;
}

}  // namespace numdiff::analysis
