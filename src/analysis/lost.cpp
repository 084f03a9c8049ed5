// Results that became zero, or were cut at the maximum, in one run only. Formats explain it; whether it does
// harm, the other run tells.
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

// Of the norm of a tensor: what the runs may differ by when they mean the same, and what is no detail any
// more.
constexpr double alike = 0.1, most = 0.5;

bool loses(const local_judgement* j) {
  return j != nullptr && j->worst.v == verdict::within &&
         (j->worst.saturated > 0 || j->worst.cause_hint == "cast-underflow" ||
          j->worst.cause_hint == "op-underflow" || j->worst.cause_hint == "loss-scale");
}

}  // namespace

// What the op read is the same in both runs, so it is no noise; and most of what one run wrote of it is gone.
void comparer::judge_lost(std::vector<item>& items, const local_result& reference, const local_result& test) {
  for (item& x : items) {
    if (!x.counted || !x.any().written || x.verdict == verdict::equal) continue;
    const bool by_test = loses(judgement_of(test, position(test_, x.test)));
    const bool by_reference = loses(judgement_of(reference, position(reference_, x.reference)));
    if (by_test == by_reference || !x.apart.from_values || !(x.apart.relative_l2 > most)) continue;
    bool same = true;
    for (const item& in : items) {
      if (!in.counted || in.any().written || in.any().role == role::scalar) continue;
      if (in.verdict == verdict::equal) continue;
      const distances d = distance(*in.reference_merged, *in.test_merged);
      same = same && d.from_values && d.relative_l2 < alike;
    }
    x.test_lost = same && by_test;
    x.reference_lost = same && by_reference;
  }
}

}  // namespace numdiff::analysis
