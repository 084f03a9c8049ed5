// Faulty integer products, computed on enough elements to tell them from each other. Floating-point ones are
// told apart by forensics.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/emulation.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double emulated_multiply_adds = 0x1p19;

// The dot on a spread of the judged elements.
std::vector<double> on_some(const product& p, const std::vector<std::int64_t>& judged, const dot& f) {
  std::vector<double> values(p.c->values.size(), std::numeric_limits<double>::quiet_NaN());
  const std::size_t total = judged.empty() ? values.size() : judged.size();
  const auto wanted =
      std::max<std::size_t>(16, static_cast<std::size_t>(emulated_multiply_adds / static_cast<double>(p.k)));
  const std::size_t step = total <= wanted ? 1 : (total / wanted) | 1;
  for (std::size_t q = 0; q < total; q += step) {
    const std::size_t at = judged.empty() ? q : static_cast<std::size_t>(judged[q]);
    const std::size_t row = at / p.n, batch = row / p.m;
    const double sum = f(p.left(batch) + row % p.m * p.k, p.right(batch) + at % p.n, p.n, p.k);
    values[at] = p.alpha * sum + p.added(at);
  }
  return values;
}

// Pairs of byte products are added in 16 bits that saturate, as some CPUs do before their 32-bit sum.
double in_saturated_pairs(const double* a, const double* b, std::size_t stride, std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i < k; i += 2) {
    double pair = a[i] * b[i * stride];
    if (i + 1 < k) pair += a[i + 1] * b[(i + 1) * stride];
    sum += std::clamp(pair, -32768.0, 32767.0);
  }
  return sum;
}

}  // namespace

std::vector<hypothesis> product_hypotheses(const product& p) {
  if (!is_integer(p.a->type) || !is_integer(p.b->type) || bytes_of(p.a->type) != 1 ||
      bytes_of(p.b->type) != 1)
    return {};
  return {{"accumulator-overflow", "pairs of products saturate at 16 bits",
           [p](const expectation& honest) { return on_some(p, honest.judged, in_saturated_pairs); }}};
}

}  // namespace numdiff::analysis::expect
