// What the rules make of the captures of one pair of ops.
#include "analysis/align.hpp"
#include "analysis/best_rule.hpp"
#include "analysis/collectives.hpp"
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"

namespace numdiff::analysis {

namespace {

// Equal tensors end it for values, not for the checks of each run.
bool called_otherwise(const judged_run& run, const logical_capture& c) {
  const logical_op& op = run.index.ops()[c.op];
  return is_collective(run.index.kind_of(op)) && broken_group(run.index, op);
}

}  // namespace

void comparer::find(std::vector<item>& items, const op_pair& pair, const local_result& reference,
                    const local_result& test, std::uint64_t order) {
  // Non-finite values that an earlier op made in one run only: what replay says of them here is their echo.
  const bool fed = std::ranges::any_of(items, [](const item& x) {
    return x.counted && !x.any().written && x.verdict == verdict::beyond &&
           x.reference_merged->nonfinite() != x.test_merged->nonfinite();
  });
  for (const side where : {side::test, side::reference}) {
    const bool is_test = where == side::test;
    best_rule best(is_test ? test_ : reference_);
    for (item& x : items) {
      const logical_capture* c = is_test ? x.test : x.reference;
      if (c == nullptr) continue;
      if (x.counted && x.verdict == verdict::equal && x.test_merged->unequal_replica < 0 &&
          x.reference_merged->unequal_replica < 0 &&
          !(c->written && called_otherwise(is_test ? test_ : reference_, *c))) {
        continue;
      }
      if (x.settled && x.test_merged->unequal_replica < 0) continue;
      const local_judgement* own = judgement_of(test, position(test_, x.test));
      const local_judgement* other = judgement_of(reference, position(reference_, x.reference));
      if (same_nonfinite(own, other)) continue;
      evidence e = evidence_of(x, pair, where, items, is_test ? test : reference);
      if (const local_judgement* j = is_test ? other : own) e.partner_local = &j->worst;
      bool passes_on = (fed && e.local != nullptr && only_passes_on(*e.local)) ||
                       (x.carried && (e.local == nullptr || e.local->v != verdict::beyond));
      judgement finite;
      if (passes_on && e.local != nullptr && e.local->finite_over) {
        finite = *e.local;
        finite.nonfinite_replayed = 0;
        finite.cause_hint = finite.finite_hint;
        finite.reason.clear();
        e.local = &finite;
        passes_on = false;
      }
      const rule* fired = best.offer(*c, e, is_test ? own : other, passes_on);
      if (fired != nullptr && !fired->benign && e.culprits.held_in_one) {
        const judged_run& run = is_test ? test_ : reference_;
        const tensor_side held{run.index, is_test ? *x.test_merged : *x.reference_merged, run.placements};
        if (const std::string shards = shards_of(held); !shards.empty()) {
          wishes_.add(run.index, run.index.ops()[c->op], order);
          wishes_.add_shards(shards);
        }
      }
      if (fired != nullptr && !fired->benign && x.counted && x.verdict != verdict::equal) {
        x.verdict = x.verdict == verdict::not_comparable && !e.structure ? x.verdict : verdict::beyond;
      }
    }
    if (std::optional<finding> found = best.take(order)) result_.findings.push_back(std::move(*found));
  }
}

}  // namespace numdiff::analysis
