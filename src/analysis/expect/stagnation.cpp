#include "analysis/expect/stagnation.hpp"

#include <cmath>

namespace numdiff::analysis::expect {

void review_stagnation(const call& c, const reduction_axes& axes, double divisor, const expectation& honest,
                       judgement& j) {
  if (!c.sum().narrow() || !j.cause_hint.empty()) return;
  const tensor &x = c.read(0), &y = c.write(0);
  double lost = 0, all = 0;
  for (std::size_t r = 0; r < y.values.size(); ++r) {
    if (!std::isfinite(y.values[r]) || !std::isfinite(honest.exact[r])) continue;
    double magnitude = 0;
    for (const std::size_t k : axes.reduced) magnitude += std::fabs(x.values[axes.kept[r] + k]);
    magnitude /= divisor;
    lost += (y.values[r] - honest.exact[r]) * (y.values[r] - honest.exact[r]);
    all += magnitude * magnitude;
  }
  if (lost <= most_lost * most_lost * all) return;
  j.v = verdict::beyond;
  j.cause_hint = "low-precision-accumulate";
  j.reason = "the running sum is too coarse for its addends";
  j.evidence.emplace_back("lost_share", std::sqrt(lost / all));
}

}  // namespace numdiff::analysis::expect
