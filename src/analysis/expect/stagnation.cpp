#include "analysis/expect/stagnation.hpp"

#include <cmath>

namespace numdiff::analysis::expect {

// Products are declared with narrow accumulators on purpose: only one that lost most of its terms stands
// still.
constexpr double most_lost_of_products = 0.3;
constexpr std::size_t most_results = 1024;  // of a product that are looked at

namespace {

// Squared, over all results.
void blame(double lost, double all, double most, judgement& j) {
  if (lost <= most * most * all) return;
  j.v = verdict::beyond;
  j.cause_hint = "low-precision-accumulate";
  j.reason = "the running sum is too coarse for its addends";
  j.evidence.emplace_back("lost_share", std::sqrt(lost / all));
}

}  // namespace

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
  blame(lost, all, most_lost, j);
}

void review_stagnation(const call& c, const product& p, const expectation& honest, judgement& j) {
  // A unit that cuts its products is told as such, with what it loses.
  if (!c.sum().narrow() || c.sum().truncates || c.sum().alignment > 0 || !j.cause_hint.empty()) return;
  const std::vector<double>& y = c.write(0).values;
  const std::size_t judged = honest.judged.empty() ? y.size() : honest.judged.size();
  const std::size_t step = judged / most_results + 1;
  double lost = 0, all = 0;
  for (std::size_t q = 0; q < judged; q += step) {
    const std::size_t at = honest.judged.empty() ? q : static_cast<std::size_t>(honest.judged[q]);
    if (!std::isfinite(y[at]) || !std::isfinite(honest.exact[at])) continue;
    const std::size_t row = at / p.n, batch = row / p.m;
    const double *a = p.left(batch) + row % p.m * p.k, *b = p.right(batch) + at % p.n;
    double magnitude = 0;
    for (std::size_t k = 0; k < p.k; ++k) magnitude += std::fabs(a[k] * b[k * p.n]);
    magnitude *= std::fabs(p.alpha);
    lost += (y[at] - honest.exact[at]) * (y[at] - honest.exact[at]);
    all += magnitude * magnitude;
  }
  blame(lost, all, most_lost_of_products, j);
}

}  // namespace numdiff::analysis::expect
