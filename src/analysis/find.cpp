// What the rules make of the captures of one pair of ops.
#include <set>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"

namespace numdiff::analysis {

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
      evidence e = evidence_of(x, pair, where, items, is_test ? test : reference);
      bool passes_on =
          fed && e.local != nullptr && e.local->nonfinite_replayed > 0 && e.local->nonfinite_created == 0;
      judgement finite;
      if (passes_on && e.local->finite_over) {
        finite = *e.local;
        finite.nonfinite_replayed = 0;
        finite.cause_hint = finite.finite_hint;
        finite.reason.clear();
        e.local = &finite;
        passes_on = false;
      }
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
      if (found.symptom == "nan" && c->written && e.own->nan == 0 && e.own->nonfinite() > 0)
        found.symptom = "inf";
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

}  // namespace numdiff::analysis
