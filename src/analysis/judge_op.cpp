// One pair of ops: its captures' verdicts, and what the rules make of them.
#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/addends.hpp"
#include "analysis/comparer.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

const logical_op& op_of(const judged_run& run, std::int32_t op) {
  return run.index.ops()[static_cast<std::size_t>(op)];
}

const local_judgement* judgement_of(const local_result& local, std::int32_t capture) {
  const auto at = std::ranges::find(local.outputs, capture, &local_judgement::capture);
  return at == local.outputs.end() ? nullptr : &*at;
}

std::int32_t position(const judged_run& run, const logical_capture* c) {
  return c == nullptr ? -1 : static_cast<std::int32_t>(c - run.index.captures().data());
}

bool is_beyond(const local_judgement* j) {
  return j != nullptr && j->worst.v == verdict::beyond;
}

// Non-finite elements that its kind does not put there on purpose.
std::int64_t unwanted(std::string_view kind, const merged_capture& own, const merged_capture* partner) {
  std::int64_t negative = own.negative_infinity;
  if (kind == "mask") negative = 0;
  if (partner != nullptr) negative = std::max<std::int64_t>(0, negative - partner->negative_infinity);
  return own.nan + own.positive_infinity + negative;
}

// Both runs make the same non-finite values: no difference, only bad health.
bool same_nonfinite(const local_judgement* a, const local_judgement* b) {
  return a != nullptr && b != nullptr && a->worst.nonfinite_replayed > 0 &&
         a->worst.nonfinite_replayed == b->worst.nonfinite_replayed &&
         a->worst.cause_hint == b->worst.cause_hint;
}

}  // namespace

std::vector<bool> judged_run::find_softmax_inputs() const {
  std::vector<bool> feeds(index.captures().size());
  for (const logical_op& op : index.ops()) {
    if (index.kind_of(op) != "softmax") continue;
    for (std::uint32_t i = 0; i < op.captures; ++i) {
      std::int32_t at = static_cast<std::int32_t>(op.first_capture + i);
      if (index.captures()[static_cast<std::size_t>(at)].written) continue;
      for (int hops = 0; hops < 3; ++hops) {
        const std::int32_t from = flow.of(at).from.from;
        if (from < 0 || flow.of(at).from.origin < origin::moved) break;
        feeds[static_cast<std::size_t>(from)] = true;
        const logical_op& writer = index.ops()[index.captures()[static_cast<std::size_t>(from)].op];
        const std::string_view kind = index.kind_of(writer);
        if (kind != "mask" && kind != "scale" && kind != "add" && kind != "cast") break;
        at = -1;
        for (std::uint32_t k = 0; k < writer.captures && at < 0; ++k) {
          const auto candidate = static_cast<std::int32_t>(writer.first_capture + k);
          const logical_capture& c = index.captures()[static_cast<std::size_t>(candidate)];
          if (!c.written && c.role != role::scalar) at = candidate;
        }
        if (at < 0) break;
      }
    }
  }
  return feeds;
}

std::vector<item> comparer::items_of(const op_pair& pair) {
  std::vector<item> items;
  for (const capture_pair& p : align_captures(reference_.index, test_.index, pair)) {
    item x;
    if (p.reference >= 0) {
      x.reference = &reference_.index.captures()[static_cast<std::size_t>(p.reference)];
      x.reference_merged = merge(reference_.index, *x.reference, reference_.placements);
    }
    if (p.test >= 0) {
      x.test = &test_.index.captures()[static_cast<std::size_t>(p.test)];
      x.test_merged = merge(test_.index, *x.test, test_.placements);
    }
    x.counted = x.reference != nullptr && x.test != nullptr;
    items.push_back(std::move(x));
  }
  return items;
}

std::optional<measured> comparer::values_apart(const merged_capture& reference, const merged_capture& test) {
  return measure_values(reference_.index, reference, reference_.placements, test_.index, test,
                        test_.placements);
}

// From values where both runs kept them, otherwise estimated from sketches.
distances comparer::distance(const merged_capture& reference, const merged_capture& test) {
  const std::optional<measured> values = values_apart(reference, test);
  return values ? values->apart : measure_sketches(reference, test);
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
  if (const std::optional<measured> values = values_apart(*x.reference_merged, *x.test_merged)) {
    x.apart = values->apart;
  } else {
    x.apart.from_values = true;
    x.apart.worst_absolute = std::abs(t - r);
    x.apart.relative_l2 = r == 0 ? HUGE_VAL : std::abs(t - r) / std::abs(r);
  }
  // Known factors, counts per rank and the number of updates may differ between honest runs.
  const bool factor = name == "factor" || name == "count" || name == "loss_scale" ||
                      (name == "update" && (reference_.index.skips() || test_.index.skips()));
  x.verdict = factor ? verdict::within : verdict::beyond;
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
  if (same_update && !r.local && !t.local && r.count == t.count) x.apart = distance(r, t);

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
  const bool addends = r.partial || t.partial;
  const bool nonfinite_differs = addends ? (r.nonfinite() > 0) != (t.nonfinite() > 0)
                                         : r.nan != t.nan || r.positive_infinity != t.positive_infinity ||
                                               r.negative_infinity != t.negative_infinity;
  if (nonfinite_differs && !skipped && r.count == t.count && !r.local && !t.local) {
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
  if (own != nullptr && own->worst.v == verdict::within && exact(r) && exact(t)) {
    x.verdict = verdict::within;
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
  double inherited = 0;
  bool reads = false;
  for (const item& in : all) {
    if (!in.counted || in.any().written || in.any().role == role::scalar) continue;
    reads = true;
    if (in.verdict == verdict::equal) continue;
    distances d = in.apart;
    if (!d.from_values && !d.from_sketch) d = distance(*in.reference_merged, *in.test_merged);
    if ((!d.from_values && !d.from_sketch) || d.contaminated) return;
    inherited = std::max(inherited, d.relative_l2);
  }
  if (!reads && diverged_) return;
  const model::op_row& row = test_.index.op_row_of(op_of(test_, pair.test).members.front());
  const model::op_row& other_row =
      reference_.index.op_row_of(op_of(reference_, pair.reference).members.front());
  const auto accumulate = [](const model::op_row& o) {
    const auto type = static_cast<dtype>(o.accumulate_dtype);
    return type == dtype::unknown || is_integer(type) ? 0 : unit_roundoff(type);
  };
  const double length = static_cast<double>(std::max<std::int64_t>({1, row.reduction_length, row.k}));
  const double noise = std::max(unit_roundoff(r.type), unit_roundoff(t.type)) +
                       std::max(accumulate(row), accumulate(other_row)) * std::sqrt(length);
  if (!std::isfinite(noise)) return;
  if ((is_integer(r.type) || is_integer(t.type)) && inherited > 0) {
    x.reason = "whole numbers chosen from inputs that differ";
    return;
  }
  if ((!x.apart.from_values && !x.apart.from_sketch) || x.apart.contaminated) return;
  x.limit = 16 * noise + 16 * inherited;
  if (x.apart.relative_l2 > x.limit) {
    x.verdict = verdict::beyond;
    x.reason = "farther apart than inputs and formats explain";
  } else if (inherited == 0 && x.apart.relative_l2 <= 2 * noise) {
    x.verdict = verdict::within;
  }
}

evidence comparer::evidence_of(const item& x, const op_pair& pair, side where, const std::vector<item>& all,
                               const local_result& local) const {
  const bool is_test = where == side::test;
  const judged_run& run = is_test ? test_ : reference_;
  const logical_capture& c = is_test ? *x.test : *x.reference;
  const logical_op& op = run.index.ops()[c.op];
  evidence e;
  e.seen_in = where;
  e.kind = run.index.kind_of(op);
  e.op_name = names_.text(op.name);
  e.phase = op.phase;
  e.role = c.role;
  e.written = c.written;
  e.skipped_step = run.index.skipped(op.step);
  e.own = is_test ? &*x.test_merged : &*x.reference_merged;
  const auto& partner = is_test ? x.reference_merged : x.test_merged;
  e.partner = partner ? &*partner : nullptr;
  e.type = e.own->type;
  if (e.partner != nullptr) e.partner_type = e.partner->type;
  e.unit = std::max(unit_roundoff(e.type), e.partner != nullptr ? unit_roundoff(e.partner_type) : 0);
  const std::int32_t at = position(run, &c);
  e.feeds_softmax = run.softmax_inputs[static_cast<std::size_t>(at)];
  e.replayed = local.done;
  if (const local_judgement* j = judgement_of(local, at)) e.local = &j->worst;
  if (e.local != nullptr && e.local->v == verdict::beyond)
    e.factor_upstream = run.applied_before(op, e.local->factor);
  for (const member& m : c.members) {
    const model::rank_data& rank = run.index.rank_of(m);
    const model::capture_row& row = run.index.capture_row_of(m);
    if (const model::cast_row* cast = cast_of(rank, row.seq)) {
      e.cast_count += cast->count;
      e.cast_beyond += cast->beyond_maximum;
      e.cast_overflowing += cast->overflowing;
      e.cast_flushed += cast->flushed;
      e.cast_nan += cast->nan;
      const model::scales_row* scales = scales_of(rank, row.seq);
      const format f = format_of(e.type);
      if (scales != nullptr && scales->count == 1 && scales->maximum > 0 && f.is_float()) {
        e.cast_headroom = std::max(e.cast_headroom, cast->amax / (scales->maximum * f.max_finite()));
      }
    }
    if (const model::scales_row* scales = scales_of(rank, row.seq)) {
      e.scales_zero += scales->zero;
      e.scales_nonfinite += scales->nan + scales->infinite;
    }
  }
  if (const auto missing = gaps_.find({at, where}); missing != gaps_.end())
    e.gap = missing->second;
  else if (!c.written && !x.counted)
    e.gap = run.flow.of(at).gap;
  if (is_test) {
    const auto source = sources_.find(at);
    if (source != sources_.end()) e.source = source->second;
  }
  std::int64_t unwanted_reads = 0;
  bool unequal_reads = false;
  for (const item& in : all) {
    const logical_capture* other = is_test ? in.test : in.reference;
    const auto& merged = is_test ? in.test_merged : in.reference_merged;
    if (other == nullptr || other->written) continue;
    const auto& in_partner = is_test ? in.reference_merged : in.test_merged;
    // A mask's fill is read by softmax; it makes no NaN by itself.
    unwanted_reads += e.kind == "softmax" ? merged->nan + merged->positive_infinity
                                          : unwanted(e.kind, *merged, in_partner ? &*in_partner : nullptr);
    unequal_reads = unequal_reads || merged->unequal_replica >= 0;
  }
  e.nonfinite_created = c.written && unwanted_reads == 0 && unwanted(e.kind, *e.own, e.partner) > 0 &&
                        (e.partner == nullptr || e.partner->nonfinite() < e.own->nonfinite());
  if (e.own->unequal_replica >= 0 &&
      (c.written ? !unequal_reads : run.flow.of(at).from.origin == origin::none)) {
    e.unequal_replica = e.own->unequal_replica;
    if (c.written && e.partner != nullptr) {
      placement_cache placements;
      value_reader whole((is_test ? reference_ : test_).index, *e.partner, placements);
      e.adds_up = whole.readable() && add_up_to(run.index, c, whole);
    }
  }
  if (is_collective(e.kind)) {
    e.collective = true;
    const model::collective_row* row = op.members.empty()
                                           ? nullptr
                                           : collective_of(run.index.rank_of(op.members.front()),
                                                           run.index.op_row_of(op.members.front()).seq);
    if (row != nullptr) {
      e.group_size = row->size;
      const bool sums = static_cast<reduction>(row->reduction) == reduction::sum &&
                        (e.kind == "all_reduce" || e.kind == "reduce_scatter");
      for (const item& in : all) {
        const logical_capture* other = is_test ? in.test : in.reference;
        if (!sums || other == nullptr || other->written || other->members.size() < 2) continue;
        const read_flow& flow = run.flow.of(position(run, other));
        if (flow.from.from < 0 || flow.from.origin < origin::moved) continue;
        const logical_op& writer =
            run.index.ops()[run.index.captures()[static_cast<std::size_t>(flow.from.from)].op];
        std::set<std::pair<std::uint64_t, std::uint64_t>> digests;
        double amax = 0;
        for (const member& m : other->members) {
          const model::capture_row& in_row = run.index.capture_row_of(m);
          digests.emplace(in_row.digest0, in_row.digest1);
          amax = std::max(amax, in_row.amax);
        }
        if (run.index.kind_of(writer) == "all_reduce" && digests.size() == 1 && amax > 0)
          e.reduces_twice = true;
      }
    }
  }
  if (x.counted) {
    e.apart = x.apart;
    if (c.role == role::scalar && x.verdict == verdict::beyond) {
      e.scalar_differs = is_test;
      e.scalar = scalar_of(test_.index.capture_row_of(x.test->members.front()));
      e.partner_scalar = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
      if (names_.text(c.name) == "factor") {
        e.scalar_factor = true;
        e.factor_upstream = run.applied_before(op, e.scalar / e.partner_scalar);
      }
    }
    if (is_test && c.written && !e.replayed && x.verdict == verdict::beyond) e.apart_limit = x.limit;
    if (is_test && c.role != role::scalar && !e.own->local && e.partner != nullptr && !e.partner->local &&
        e.own->covered && e.partner->covered && e.own->count != e.partner->count &&
        pair.fate == fate::matched) {
      e.structure = true;
    }
  }
  return e;
}

void comparer::find(std::vector<item>& items, const op_pair& pair, const local_result& reference,
                    const local_result& test, std::uint64_t order) {
  // Non-finite values that an earlier op made in one run only: what replay says of them here is their echo.
  const bool fed = std::ranges::any_of(items, [](const item& x) {
    return x.counted && !x.any().written && x.verdict == verdict::beyond &&
           x.reference_merged->nonfinite() != x.test_merged->nonfinite();
  });
  for (const side where : {side::test, side::reference}) {
    const bool is_test = where == side::test;
    const rule* best = nullptr;
    finding found;
    std::set<std::string> explained;
    for (item& x : items) {
      const logical_capture* c = is_test ? x.test : x.reference;
      if (c == nullptr) continue;
      if (x.counted && x.verdict == verdict::equal && x.test_merged->unequal_replica < 0 &&
          x.reference_merged->unequal_replica < 0) {
        continue;
      }
      const local_judgement* own = judgement_of(test, position(test_, x.test));
      const local_judgement* other = judgement_of(reference, position(reference_, x.reference));
      if (same_nonfinite(own, other)) continue;
      const evidence e = evidence_of(x, pair, where, items, is_test ? test : reference);
      const bool passes_on =
          fed && e.local != nullptr && e.local->nonfinite_replayed > 0 && e.local->nonfinite_created == 0;
      std::vector<const rule*> others;
      const rule* fired = decide(e, others);
      if (fired == nullptr) continue;
      if (!fired->benign && x.counted && x.verdict != verdict::equal) {
        x.verdict = x.verdict == verdict::not_comparable && !e.structure ? x.verdict : verdict::beyond;
      }
      for (const rule* o : others) {
        explained.insert(std::string(o->id) + " " + o->symptom + " " + o->cause);
      }
      if (best != nullptr && fired >= best) {
        explained.insert(std::string(fired->id) + " " + fired->symptom + " " + fired->cause);
        continue;
      }
      if (best != nullptr) explained.insert(found.rule + " " + found.symptom + " " + found.cause);
      best = fired;
      const judged_run& run = is_test ? test_ : reference_;
      found.where = run.index.place_of(*c);
      const local_judgement* j = is_test ? own : other;
      if (j != nullptr) found.where.ranks = j->ranks;
      if (e.unequal_replica >= 0) found.where.ranks = {e.unequal_replica};
      if (e.gap != gap::none) found.where.ranks = {run.flow.of(position(run, c)).world_rank};
      if (run.index.run().world_size == 1) found.where.ranks.clear();
      found.rule = fired->id;
      found.symptom = fired->symptom;
      found.cause = fired->cause;
      found.control = fired->control;
      found.evidence = numbers_of(e);
      found.message = fired->message;
      if (e.local != nullptr && !e.local->reason.empty() && e.local->v == verdict::beyond) {
        found.message += " (" + e.local->reason + ")";
      }
      found.seen_in = where;
      found.benign = fired->benign;
      found.is_root = !fired->benign && !passes_on;
      found.order = order;
    }
    if (best == nullptr) continue;
    explained.erase(found.rule + " " + found.symptom + " " + found.cause);
    found.explains.assign(explained.begin(), explained.end());
    result_.findings.push_back(std::move(found));
  }
}

void comparer::judge(const op_pair& pair, std::uint64_t order) {
  std::vector<item> items = items_of(pair);
  const bool matched = pair.fate == fate::matched;
  if (!pair.selected) {
    for (const item& x : items) {
      if (x.counted && x.any().written && !equal(*x.reference_merged, *x.test_merged)) diverged_ = true;
    }
    return;
  }
  bool equal_writes = matched, any_write = false;
  for (item& x : items) {
    if (!x.counted) {
      if (x.any().written) equal_writes = false;
      continue;
    }
    if (x.any().role == role::scalar)
      judge_scalar(x);
    else if (!x.any().written)
      judge_read(x, pair);
    if (x.any().written) {
      any_write = true;
      equal_writes = equal_writes && equal(*x.reference_merged, *x.test_merged);
    }
  }
  local_result reference, test;
  reference.why_not = test.why_not = "not needed";
  if (!(matched && (equal_writes || !any_write))) {
    if (pair.reference >= 0) reference = judge_locally(reference_.index, op_of(reference_, pair.reference));
    if (pair.test >= 0) test = judge_locally(test_.index, op_of(test_, pair.test));
  }
  for (item& x : items) {
    if (x.counted && x.any().written) judge_written(x, pair, reference, test, items);
  }
  judge_factors(items);
  find(items, pair, reference, test, order);
  note_losses(items, pair, reference, test, order);
  for (const item& x : items) {
    const bool alone_fine = pair.fate != fate::auxiliary || (pair.test >= 0 ? test.done : reference.done);
    count(x, pair);
    if (!alone_fine) {
      side_totals& s = pair.test >= 0 ? result_.totals.test : result_.totals.reference;
      ++s.auxiliary_undecided;
    }
    if (x.counted && x.any().written && x.verdict != verdict::equal) diverged_ = true;
    if (pair.fate != fate::matched && x.any().written) diverged_ = diverged_ || pair.fate == fate::only_there;
  }
}

void comparer::count(const item& x, const op_pair& pair) {
  totals& t = result_.totals;
  const bool side_value = x.any().role == role::scalar || x.any().role == role::scale;
  for (const bool is_test : {false, true}) {
    const logical_capture* c = is_test ? x.test : x.reference;
    if (c == nullptr) continue;
    side_totals& s = is_test ? t.test : t.reference;
    ++s.captures;
    if (x.counted)
      ++s.matched;
    else if (pair.fate == fate::auxiliary || (pair.fate == fate::matched && side_value))
      ++s.auxiliary;
    else
      ++s.only_there;
  }
  const auto note_health = [&](std::string_view kind, const std::optional<merged_capture>& m,
                               const std::optional<merged_capture>& partner) {
    if (m && unwanted(kind, *m, partner ? &*partner : nullptr) > 0) result_.health = health::nonfinite;
  };
  const judged_run& run = x.test != nullptr ? test_ : reference_;
  const std::string_view kind = run.index.kind_of(run.index.ops()[x.any().op]);
  note_health(kind, x.test_merged, x.reference_merged);
  note_health(kind, x.reference_merged, x.test_merged);
  if (!x.counted) return;
  ++t.matched;
  switch (x.verdict) {
    case verdict::equal: ++t.equal; break;
    case verdict::within: ++t.within; break;
    case verdict::beyond: ++t.beyond; break;
    case verdict::undecided: ++t.undecided; break;
    case verdict::not_comparable: ++t.not_comparable; break;
  }
  if (x.verdict == verdict::undecided) ++undecided_because_[x.reason];
}

}  // namespace numdiff::analysis
