// Ops that one run fuses: judged by the parts that the other run has.
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

void comparer::judge_regions(std::vector<op_pair>& pairs) {
  std::map<op_on_side, op_pair*> pair_of;
  for (op_pair& p : pairs) {
    if (p.fate != fate::matched)
      pair_of[{p.test >= 0 ? side::test : side::reference, std::max(p.test, p.reference)}] = &p;
  }
  for (const region& r : find_regions(reference_.index, reference_.flow, test_.index, test_.flow, pairs)) {
    bridge b = judge_region(reference_.index, reference_.flow, test_.index, test_.flow, r);
    const side fused = b.test_fused ? side::test : side::reference;
    const judged_run& run = b.test_fused ? test_ : reference_;
    for (const side where : {side::reference, side::test}) {
      for (const std::int32_t op : where == side::test ? r.test : r.reference) {
        if (b.done)
          pair_of.at({where, op})->fate = fate::bridged;
        else
          apart_[{where, op}] = b.why_not;
      }
    }
    for (auto& [op, result] : b.judged) bridged_[{fused, op}] = std::move(result);
    for (const std::int32_t c : b.unjudged) unjudged_.emplace(fused, c);
    for (const bridge::shared_read& s : b.shared) {
      const auto op = static_cast<std::int32_t>(run.index.captures()[static_cast<std::size_t>(s.fused)].op);
      shared_[{fused, op}].push_back(b.test_fused ? capture_pair{s.parts, s.fused}
                                                  : capture_pair{s.fused, s.parts});
    }
  }
}

// What enters a fused op is judged as if the op that reads it in the other run were its partner.
void comparer::judge_shared_reads(const op_pair& pair, std::uint64_t order) {
  const auto known =
      shared_.find({pair.test >= 0 ? side::test : side::reference, std::max(pair.test, pair.reference)});
  if (known == shared_.end()) return;
  for (const capture_pair& p : known->second) {
    std::vector<item> items(1);
    item& x = items.front();
    x.reference = &reference_.index.captures()[static_cast<std::size_t>(p.reference)];
    x.test = &test_.index.captures()[static_cast<std::size_t>(p.test)];
    x.reference_merged = merge(reference_.index, *x.reference, reference_.placements);
    x.test_merged = merge(test_.index, *x.test, test_.placements);
    x.counted = true;
    const op_pair readers{static_cast<std::int32_t>(x.reference->op), static_cast<std::int32_t>(x.test->op)};
    judge_read(x, readers);
    if (x.verdict == verdict::undecided) ++undecided_because_[x.reason];
    find(items, readers, {}, {}, order);
  }
}

}  // namespace numdiff::analysis
