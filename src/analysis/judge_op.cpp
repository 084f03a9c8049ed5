// One pair of ops: its captures one by one, and the totals that they are counted in.
#include <algorithm>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"

namespace numdiff::analysis {

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
    if (x.counted) {
      twin_of_reference_[static_cast<std::size_t>(p.reference)] = p.test;
      twin_of_test_[static_cast<std::size_t>(p.test)] = p.reference;
    }
    items.push_back(std::move(x));
  }
  return items;
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
      // A replica that differs from its twin is no part of what was merged.
      equal_writes = equal_writes && equal(*x.reference_merged, *x.test_merged) &&
                     x.reference_merged->unequal_replica < 0 && x.test_merged->unequal_replica < 0;
    }
  }
  local_result reference, test;
  reference.why_not = test.why_not = "not needed";
  if (!(matched && (equal_writes || !any_write))) {
    const auto judged = [&](side where, const judged_run& run, std::int32_t op) {
      const auto known = bridged_.find({where, op});
      return known != bridged_.end() ? known->second : judge_locally(run.index, op_of(run, op));
    };
    if (pair.reference >= 0) reference = judged(side::reference, reference_, pair.reference);
    if (pair.test >= 0) test = judged(side::test, test_, pair.test);
  }
  for (item& x : items) {
    if (x.counted && x.any().written) judge_written(x, pair, reference, test, items);
  }
  judge_factors(items);
  judge_fills(items);
  judge_lost(items, reference, test);
  if (matched) judge_steps(items, reference, test);
  judge_noise(items, pair, test);
  if (pair.fate == fate::bridged) judge_shared_reads(pair, order);
  find(items, pair, reference, test, order);
  note_losses(items, pair, reference, test, order);
  note_flips(items, pair, reference, test, order);
  note_wishes(items, pair, reference, test, order);
  for (const item& x : items) {
    const bool alone_fine = pair.fate != fate::auxiliary || (pair.test >= 0 ? test.done : reference.done);
    count(x, pair);
    if (!alone_fine) {
      side_totals& s = pair.test >= 0 ? result_.totals.test : result_.totals.reference;
      ++s.auxiliary_undecided;
    }
    if (x.test != nullptr) {
      const bool open = x.verdict == verdict::undecided || x.verdict == verdict::not_comparable;
      open_[static_cast<std::size_t>(position(test_, x.test))] = x.counted ? open : !alone_fine;
      off_[static_cast<std::size_t>(position(test_, x.test))] = x.verdict == verdict::beyond;
    }
    if (x.counted && x.any().written && x.verdict != verdict::equal) diverged_ = true;
    if (x.any().written) diverged_ = diverged_ || pair.fate == fate::only_there || pair.fate == fate::bridged;
  }
}

// Values would decide what is undecided for want of them, and name what is beyond without a replay.
void comparer::note_wishes(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                           const local_result& test, std::uint64_t order) {
  const bool lacks = reference.why_not == values_not_stored || test.why_not == values_not_stored;
  bool open = false, by_distance = false;
  for (const item& x : items) {
    if (!x.counted) {
      open = open || (lacks && pair.fate == fate::auxiliary);
    } else if (!x.any().written) {
      open = open || (x.verdict == verdict::undecided && x.reason == levels_do_not_compare);
    } else {
      open = open || (lacks && (x.verdict == verdict::undecided || x.verdict == verdict::beyond));
      by_distance = by_distance || (lacks && x.verdict == verdict::within);
    }
  }
  if (!open && !by_distance) return;
  const judged_run& run = pair.test >= 0 ? test_ : reference_;
  wishes_.add(run.index, op_of(run, pair.test >= 0 ? pair.test : pair.reference), order, open);
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
    else if (pair.fate == fate::bridged && !unjudged_.contains({is_test ? side::test : side::reference,
                                                                position(is_test ? test_ : reference_, c)}))
      ++s.bridged;
    else
      ++s.only_there;
  }
  const auto note_health = [&](std::string_view kind, const std::optional<merged_capture>& m,
                               const std::optional<merged_capture>& partner) {
    const auto count = x.any().written ? unwanted : unwanted_read;
    if (m && count(kind, *m, partner ? &*partner : nullptr) > 0) result_.health = health::nonfinite;
  };
  const judged_run& run = x.test != nullptr ? test_ : reference_;
  const logical_op& op = run.index.ops()[x.any().op];
  const std::string_view kind = run.index.kind_of(op);
  // A skipped step throws its gradients away: what they held does no harm.
  if (!run.index.skipped(op.step) || op.phase == phase::forward) {
    note_health(kind, x.test_merged, x.reference_merged);
    note_health(kind, x.reference_merged, x.test_merged);
  }
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
