// The way from one run to its verdict.
#include "analysis/check.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/best_rule.hpp"
#include "analysis/checker.hpp"
#include "analysis/completeness.hpp"
#include "analysis/lookup.hpp"
#include "analysis/losses.hpp"
#include "analysis/nonfinite.hpp"

namespace numdiff::analysis {

namespace {

// Values that no op should hold: of what a softmax reads, -Inf is what a mask was filled with.
std::int64_t unhealthy(const evidence& e) {
  const merged_capture& m = *e.own;
  return e.feeds_softmax || e.kind == "softmax" ? m.nan + m.positive_infinity : unwanted(e.kind, m, nullptr);
}

}  // namespace

checker::checker(const model::run& run, const options& how) : how_(how), run_(run, names_, how.select) {}

checkup checker::run() {
  result_.run = summary_of(run_.index);
  std::uint64_t order = 0;
  for (const logical_op& op : run_.index.ops()) {
    if (op.selected) judge(op, order);
    ++order;
  }
  summarise();
  return std::move(result_);
}

void checker::judge(const logical_op& op, std::uint64_t order) {
  std::vector<merged_capture> merged;
  std::vector<seen_capture> all;
  reads_health reads;
  merged.reserve(op.captures);
  for (const logical_capture& c : run_.index.captures_of(op)) {
    merged.push_back(merge(run_.index, c, run_.placements));
    all.push_back({&c, &merged.back(), nullptr});
    if (!c.written) reads.add(merged.back());
  }
  const local_result local = judge_locally(run_.index, op);
  best_rule best(run_);
  std::vector<evidence> known;
  std::vector<bool> faulty;
  for (const seen_capture& x : all) {
    evidence e = evidence_alone(run_, x, all, local);
    e.seen_in = side::both;
    if (!e.broken) e.broken = stuck(op, *x.capture);
    const bool echo = !reads.clean && e.local != nullptr && only_passes_on(*e.local);
    const rule* fired = best.offer(*x.capture, e, judgement_of(local, position(run_, x.capture)), echo);
    faulty.push_back(fired != nullptr && !fired->benign);
    known.push_back(std::move(e));
  }
  if (std::optional<finding> found = best.take(order)) result_.findings.push_back(std::move(*found));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const logical_capture& c = *all[i].capture;
    if (note_origin(c, known[i], reads, order)) faulty[i] = true;
    for (finding& f : losses_of(known[i], reads)) {
      f.where = run_.index.place_of(c);
      f.order = order;
      result_.information_lost.push_back(std::move(f));
    }
    note_scale(c, known[i]);
    count(c, known[i], faulty[i], local, order);
    note_worst(c, known[i], faulty[i]);
  }
}

// Where non-finite values come from: made by an op, or brought by a tensor that no captured op wrote. Where
// they are only passed on they are not told again.
bool checker::note_origin(const logical_capture& c, const evidence& e, const reads_health& reads,
                          std::uint64_t order) {
  if (e.skipped_step && e.phase != phase::forward) return false;
  if (unhealthy(e) > 0 && !(c.role == role::scalar && e.own->nan == 0)) result_.health = health::nonfinite;
  if (result_.nonfinite_origin) return false;
  const bool brought = !c.written && c.role != role::scalar && unhealthy(e) > 0 &&
                       run_.flow.of(position(run_, &c)).from.origin == origin::none;
  const bool made =
      c.written && (e.nonfinite_created || (reads.clean && e.own->nan + e.own->positive_infinity > 0));
  if (!brought && !made) return false;
  const auto same_op = std::ranges::find(result_.findings, order, &finding::order);
  finding f;
  if (made && same_op != result_.findings.end()) {
    f = *same_op;
  } else {
    f = nonfinite_made(e);
    f.benign = false;
    f.is_root = true;
    f.order = order;
    if (brought) f.message = "brings non-finite values that no captured op wrote";
  }
  f.where = run_.index.place_of(c);
  const bool unnamed = same_op == result_.findings.end() || same_op->benign || (brought && !same_op->is_root);
  if (unnamed) result_.findings.push_back(f);
  result_.nonfinite_origin = std::move(f);
  return unnamed;
}

void checker::count(const logical_capture& c, const evidence& e, bool faulty, const local_result& local,
                    std::uint64_t order) {
  check_totals& t = result_.totals;
  ++t.captures;
  if (faulty) {
    ++t.faulty;
  } else if (c.role == role::scalar || c.role == role::scale || run_.index.ops()[c.op].outside) {
    ++t.given;
  } else if (!c.written) {
    const origin from = run_.flow.of(position(run_, &c)).from.origin;
    ++(from == origin::written || from == origin::moved ? t.in_order : t.given);
  } else if (e.local != nullptr && e.local->v == verdict::within) {
    ++t.in_order;
  } else if (e.local != nullptr && e.local->v == verdict::beyond) {
    ++t.in_order;  // what a skipped step threw away
  } else {
    ++t.undecided;
    ++undecided_because_[local.done ? "no expectation for this tensor" : local.why_not];
    if (local.why_not == values_not_stored) wishes_.add(run_.index, run_.index.ops()[c.op], order);
  }
}

void checker::note_worst(const logical_capture& c, const evidence& e, bool faulty) {
  if (e.local == nullptr && !faulty) return;
  table_row row;
  row.where = run_.index.place_of(c);
  row.verdict = faulty ? verdict::beyond : e.local->v == verdict::beyond ? verdict::within : e.local->v;
  row.reference_dtype = row.test_dtype = e.type;
  if (e.local != nullptr) {
    row.local_ratio = e.local->ratio;
    row.limit = e.local->limit;
    row.reason = e.local->reason;
  }
  result_.worst.push_back(std::move(row));
  if (result_.worst.size() > 8 * how_.worst_rows + 64) keep_worst(result_.worst, how_.worst_rows);
}

void checker::note_scale(const logical_capture& c, const evidence& e) {
  if (!c.written || run_.index.capture_row_of(c.members.front()).scaling == 0) return;
  scale_use& s = result_.scales;
  ++s.tensors;
  s.cut += e.cast_beyond > 0;
  if (e.cast_headroom <= 0) return;
  s.uncalibrated += e.scale_is_one;
  if (s.measured == 0 || e.cast_headroom > s.most) {
    s.most = e.cast_headroom;
    s.most_at = run_.index.place_of(c);
  }
  if (s.measured == 0 || e.cast_headroom < s.least) {
    s.least = e.cast_headroom;
    s.least_at = run_.index.place_of(c);
  }
  ++s.measured;
}

void checker::summarise() {
  keep_worst(result_.worst, how_.worst_rows);
  std::ranges::stable_sort(result_.findings, {}, &finding::order);
  std::ranges::copy_if(result_.findings, std::back_inserter(result_.roots), &finding::is_root);
  if (!result_.roots.empty()) result_.first_divergence = result_.roots.front();
  auto& because = result_.incomplete_because;
  check_totals& t = result_.totals;
  t.dropped = note_missing(run_.index, "the run", result_);
  t.captures += t.dropped;
  if (t.in_order + t.faulty == 0) because.emplace_back("nothing could be judged");
  if (how_.strict && t.undecided > 0) because.push_back(plural(t.undecided, "capture") + " undecided");
  for (const auto& [reason, number] : undecided_because_)
    result_.warnings.push_back(plural(number, "capture") + " undecided: " + reason);
  result_.next_capture = wishes_.request(
      run_.index, result_.first_divergence ? result_.first_divergence->order : std::uint64_t(-1));
  result_.complete = because.empty();
  result_.verdict = result_.first_divergence ? condition::fault
                    : result_.complete       ? condition::healthy
                                             : condition::incomplete;
}

checkup check(const model::run& run, const options& how) {
  return checker(run, how).run();
}

const char* name_of(condition c) noexcept {
  switch (c) {
    case condition::healthy: return "healthy";
    case condition::fault: return "fault";
    case condition::incomplete: return "incomplete";
  }
  return "incomplete";
}

}  // namespace numdiff::analysis
