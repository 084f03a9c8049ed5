// The way from two runs to an answer.
#include <algorithm>
#include <cmath>
#include <utility>

#include "analysis/comparer.hpp"
#include "analysis/completeness.hpp"
#include "analysis/lookup.hpp"
#include "analysis/losses.hpp"
#include "analysis/nonfinite.hpp"
#include "analysis/speed.hpp"

namespace numdiff::analysis {

comparer::comparer(const model::run& reference, const model::run& test, const options& how)
    : how_(how),
      reference_(reference, names_, how.select),
      test_(test, names_, how.select, &reference_.index) {}

comparison comparer::run() {
  result_.reference = summary_of(reference_.index);
  result_.test = summary_of(test_.index);
  if (how_.noise != nullptr) result_.envelope = {how_.noise->path, how_.noise->runs.size()};
  if (reference_.index.skips() || test_.index.skips()) {
    for (std::size_t i = 0; i < reference_.index.captures().size(); ++i) {
      const logical_capture& c = reference_.index.captures()[i];
      const logical_op& op = reference_.index.ops()[c.op];
      if (c.role != role::weight && c.role != role::state) continue;
      by_update_.try_emplace(
          {op.scope, op.name, op.call, op.micro_batch, op.phase, c.role, c.name, op.update},
          static_cast<std::int32_t>(i));
    }
  }
  open_.assign(test_.index.captures().size(), false);
  off_.assign(test_.index.captures().size(), false);
  twin_of_reference_.assign(reference_.index.captures().size(), -1);
  twin_of_test_.assign(test_.index.captures().size(), -1);
  std::uint64_t order = 0;
  std::vector<op_pair> pairs = align(reference_.index, test_.index);
  judge_regions(pairs);
  for (const op_pair& pair : pairs) {
    judge(pair, order++);
    if ((pair.fate == fate::ambiguous || pair.fate == fate::only_there) && pair.selected) {
      const judged_run& run = pair.test >= 0 ? test_ : reference_;
      const auto op = static_cast<std::size_t>(std::max(pair.test, pair.reference));
      finding f = stated("ND805", run.index.place_of(run.index.ops()[op]), order);
      if (pair.fate == fate::ambiguous) f.message = "has several partners that fit equally well";
      const side where = pair.test >= 0 ? side::test : side::reference;
      const auto apart = apart_.find({where, static_cast<std::int32_t>(op)});
      if (apart != apart_.end()) f.message += ", nor is it judged with its surroundings: " + apart->second;
      f.seen_in = pair.test >= 0 ? side::test : side::reference;
      result_.findings.push_back(std::move(f));
    }
  }
  note_lone_factors(pairs);
  std::ranges::move(slow_products(reference_, test_, pairs), std::back_inserter(result_.findings));
  compare_manifests();
  summarise();
  return std::move(result_);
}

void comparer::note_losses(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                           const local_result& test, std::uint64_t order) {
  for (const item& x : items) {
    if (x.test == nullptr && x.reference == nullptr) continue;
    const side where = x.test != nullptr ? side::test : side::reference;
    const judged_run& run = where == side::test ? test_ : reference_;
    const logical_capture& c = x.any();
    const logical_op& op = run.index.ops()[c.op];
    if (!c.written) {
      note_given(x, order);
      continue;
    }
    const bool skipped = run.index.skipped(op.step);
    const evidence e = evidence_of(x, pair, where, items, where == side::test ? test : reference);

    // Health counts what both runs share, too: a NaN that both made has an origin.
    reads_health reads;
    for (const item& in : items) {
      const auto& merged = where == side::test ? in.test_merged : in.reference_merged;
      if (merged && !in.any().written) reads.add(*merged);
    }
    const bool made_alike = reads.clean && e.own->nan + e.own->positive_infinity > 0;
    const bool leaked = e.own->nonfinite() > 0 && e.local != nullptr && !only_passes_on(*e.local) &&
                        e.local->nonfinite_replayed > 0;
    if ((e.nonfinite_created || made_alike || leaked) && !skipped && !result_.nonfinite_origin) {
      const auto known = std::ranges::find_if(
          result_.findings, [&](const finding& g) { return g.order == order && g.seen_in == where; });
      finding f = known != result_.findings.end() ? *known : nonfinite_made(e);
      f.where = run.index.place_of(c);
      f.seen_in = x.counted && !e.nonfinite_created ? side::both : where;
      f.order = order;
      result_.nonfinite_origin = std::move(f);
    }
    for (finding& f : losses_of(e, reads)) {
      f.where = run.index.place_of(c);
      f.seen_in = where;
      f.order = order;
      result_.information_lost.push_back(std::move(f));
    }

    if (e.recomputed == recomputed_state::repeats && repeated_.captures++ == 0) {
      repeated_.where = run.index.place_of(c);
      repeated_.order = order;
    }

    if (!x.counted || x.verdict == verdict::equal) continue;
    table_row row;
    row.where = run.index.place_of(c);
    row.verdict = x.verdict;
    row.reference_dtype = x.reference_merged->type;
    row.test_dtype = x.test_merged->type;
    row.apart = x.apart;
    if (e.local != nullptr) {
      row.local_ratio = e.local->ratio;
      row.limit = e.local->limit;
    }
    row.reason = x.reason;
    result_.worst.push_back(row);
    if (result_.worst.size() > 8 * how_.worst_rows + 64) keep_worst(result_.worst, how_.worst_rows);

    if (x.verdict == verdict::beyond) {
      const bool told = std::ranges::any_of(result_.findings, [&](const finding& g) { return !g.benign; });
      if (!told && !first_beyond_) {
        finding f = stated("ND906", row.where, order);
        if (e.own->nonfinite() > 0) f.symptom = e.own->nan > 0 ? "nan" : "inf";
        f.evidence = numbers_of(e);
        f.is_root = true;
        first_beyond_ = std::move(f);
      }
      continue;
    }
    if (x.verdict != verdict::within || is_integer(e.type)) continue;
    const bool quantised = run.index.capture_row_of(c.members.front()).scaling != 0;
    benign& kind = x.repeats_differ                                  ? nondeterministic_
                   : quantised                                       ? quantization_
                   : x.reference_merged->type == x.test_merged->type ? order_
                                                                     : rounding_;
    if (kind.captures++ == 0) {
      kind.where = run.index.place_of(c);
      kind.order = order;
    }
  }
}

// Non-finite values of one run that no captured op wrote.
void comparer::note_given(const item& x, std::uint64_t order) {
  if (result_.nonfinite_origin || !x.counted || x.verdict != verdict::beyond || x.any().role == role::scalar)
    return;
  for (const side where : {side::test, side::reference}) {
    const judged_run& run = where == side::test ? test_ : reference_;
    const logical_capture& c = where == side::test ? *x.test : *x.reference;
    const merged_capture& own = where == side::test ? *x.test_merged : *x.reference_merged;
    const merged_capture& other = where == side::test ? *x.reference_merged : *x.test_merged;
    if (unwanted_read(run.index.kind_of(run.index.ops()[c.op]), own, &other) == 0 || other.nonfinite() > 0 ||
        run.flow.of(position(run, &c)).from.origin != origin::none)
      continue;
    finding f = stated("ND192", run.index.place_of(c), order);
    if (own.nan == 0) f.symptom = "inf";
    f.message = "brings non-finite values that no captured op wrote";
    f.seen_in = where;
    f.evidence = {{"elements", static_cast<double>(own.nonfinite())}};
    result_.nonfinite_origin = std::move(f);
    return;
  }
}

void comparer::summarise() {
  totals& t = result_.totals;
  keep_worst(result_.worst, how_.worst_rows);

  const auto add_benign = [&](const benign& b, const char* id) {
    if (b.captures == 0) return;
    finding f = stated(id, b.where, b.order);
    f.evidence = {{"captures", static_cast<double>(b.captures)}};
    result_.findings.push_back(std::move(f));
  };
  add_benign(rounding_, "ND194");
  add_benign(quantization_, "ND195");
  add_benign(order_, "ND196");
  add_benign(repeated_, "ND807");
  add_benign(nondeterministic_, "ND808");
  std::ranges::stable_sort(result_.findings, {}, &finding::order);

  if (std::ranges::none_of(result_.findings, &finding::is_root)) {
    // Where every finding is an echo of something, the first of them is all that is known of it.
    const auto echo = std::ranges::find(result_.findings, false, &finding::benign);
    if (echo != result_.findings.end() && t.beyond > 0)
      echo->is_root = true;
    else if (first_beyond_)
      result_.findings.push_back(*first_beyond_);
  }
  std::ranges::copy_if(result_.findings, std::back_inserter(result_.roots), &finding::is_root);
  if (!result_.roots.empty()) result_.first_divergence = result_.roots.front();

  auto& because = result_.incomplete_because;
  for (const bool is_test : {false, true}) {
    const judged_run& run = is_test ? test_ : reference_;
    side_totals& s = is_test ? t.test : t.reference;
    const std::string name = is_test ? "the test" : "the reference";
    if (s.only_there > 0) because.push_back(plural(s.only_there, "capture") + " only in " + name);
    s.dropped = note_missing(run.index, name, result_);
    s.captures += s.dropped;
    if (s.auxiliary_undecided > 0) {
      result_.warnings.push_back(plural(s.auxiliary_undecided, "capture") + " of auxiliary ops of " + name +
                                 " could not be judged");
    }
  }
  if (t.matched == 0) because.emplace_back("nothing was compared");
  if (t.not_comparable > 0) because.push_back(plural(t.not_comparable, "capture") + " not comparable");
  if (how_.strict && t.undecided > 0) because.push_back(plural(t.undecided, "capture") + " undecided");
  for (const auto& [reason, count] : undecided_because_) {
    result_.warnings.push_back(plural(count, "capture") + " undecided: " + reason);
  }
  if (first_beyond_ && result_.first_divergence && result_.first_divergence->rule == first_beyond_->rule)
    wishes_.add_step(first_beyond_->where.step, first_beyond_->order);
  result_.next_capture = wishes_.request(
      test_.index, result_.first_divergence ? result_.first_divergence->order : std::uint64_t(-1));
  result_.complete = because.empty();
  result_.verdict = result_.first_divergence ? outcome::differ
                    : result_.complete       ? outcome::agree
                                             : outcome::incomplete;
}

comparison compare(const model::run& reference, const model::run& test, const options& how) {
  return comparer(reference, test, how).run();
}

}  // namespace numdiff::analysis
