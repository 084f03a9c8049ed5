// Captures whose distance good runs tell: they decide instead of the model. A trusted run decides what the
// model leaves open, and acquits what it accuses.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/comparer.hpp"
#include "analysis/envelope.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

constexpr double spread_of_honest_errors = 1.3;  // observed over expected, of honest ops (docs/measured)

}  // namespace

// Distance and what it may be; nothing when the envelope or the records do not tell.
std::optional<noise> comparer::noise_of(const item& x) {
  const auto known = how_.noise->spreads.find(key_of(reference_.index, *x.reference));
  if (known == how_.noise->spreads.end()) return std::nullopt;
  noise n;
  n.repeats_differ = known->second.repeats_differ;
  n.local_error = known->second.local_error;
  const double unit = unit_roundoff(x.test_merged->type);
  if (equal(*x.reference_merged, *x.test_merged)) {
    n.limit = allowed_distance(*how_.noise, known->second, unit, false);
    return n;
  }
  const distances d =
      x.apart.from_values || x.apart.from_sketch ? x.apart : distance(*x.reference_merged, *x.test_merged);
  if ((!d.from_values && !d.from_sketch) || d.contaminated || d.nan_mismatch + d.inf_mismatch > 0 ||
      std::isnan(d.relative_l2))
    return std::nullopt;
  n.distance = d.relative_l2;
  n.limit = allowed_distance(*how_.noise, known->second, unit, !d.from_values);
  return n;
}

void comparer::judge_noise(std::vector<item>& items, const op_pair& pair, const local_result& test) {
  if (how_.noise == nullptr) return;
  bool carried = false;  // something that it reads is too far apart already
  for (const bool writes : {false, true}) {
    for (item& x : items) {
      if (!x.counted || x.any().written != writes) continue;
      const std::optional<noise> n = noise_of(x);
      if (!n || pair.fate != fate::matched) {
        ++result_.envelope->not_covered;
        continue;
      }
      ++result_.envelope->covered;
      if (x.verdict == verdict::equal) continue;
      const bool scalar = x.any().role == role::scalar;
      const local_judgement* own = judgement_of(test, position(test_, x.test));
      const bool explained = own != nullptr && own->worst.v == verdict::within;
      bool over = n->distance > n->limit;
      // What each op adds tells more than what has come together.
      if (how_.noise->trusted && own != nullptr && own->worst.v == verdict::beyond && n->local_error > 0)
        over = own->worst.observed > spread_of_honest_errors * n->local_error;
      carried = carried || (over && !writes && !scalar);
      if (!over && (x.verdict == verdict::beyond || !how_.noise->trusted || !explained)) {
        x.verdict = verdict::within;
        x.settled = true;
        x.repeats_differ = n->repeats_differ;
        x.limit = n->limit;
        continue;
      }
      if (!over || scalar) continue;
      const bool has_writer = !writes && test_.flow.of(position(test_, x.test)).from.from >= 0;
      if (how_.noise->trusted) {
        if (explained || x.verdict == verdict::beyond || has_writer) continue;
        if (carried) {
          x.verdict = verdict::undecided;
          x.reason = "farther apart than in the trusted run, and so is what it reads";
          continue;
        }
      }
      ++result_.envelope->beyond;
      x.verdict = verdict::beyond;
      x.limit = n->limit;
      if (has_writer) continue;  // its writer carries the finding
      x.noise_limit = std::max(n->limit, std::numeric_limits<double>::min());
      x.carried = carried && writes;
    }
  }
}

}  // namespace numdiff::analysis
