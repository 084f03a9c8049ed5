// Faulty integer products and misused scales, on enough elements to tell them from each other. Accumulators
// of floating-point products are told apart by forensics.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/emulation.hpp"
#include "analysis/expect/scale_misuse.hpp"

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

double plain(const double* a, const double* b, std::size_t stride, std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i < k; ++i) sum += a[i] * b[i * stride];
  return sum;
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

// A running sum of 16 bits that saturates, or wraps around.
double in_short_sum(const double* a, const double* b, std::size_t stride, std::size_t k, bool wraps) {
  double sum = 0;
  for (std::size_t i = 0; i < k; ++i) {
    sum += a[i] * b[i * stride];
    sum = wraps ? static_cast<double>(static_cast<std::int16_t>(static_cast<std::int64_t>(sum)))
                : std::clamp(sum, -32768.0, 32767.0);
  }
  return sum;
}

}  // namespace

std::vector<hypothesis> product_hypotheses(const call& c, const product& p) {
  std::vector<hypothesis> all;
  const auto offer = [&](const char* cause, std::string form, dot f) {
    all.push_back({cause, std::move(form), [p, f = std::move(f)](const expectation& honest) {
                     return on_some(p, honest.judged, f);
                   }});
  };
  if (is_integer(p.a->type) && is_integer(p.b->type) && bytes_of(p.a->type) == 1 &&
      bytes_of(p.b->type) == 1) {
    offer("accumulator-overflow", "pairs of products saturate at 16 bits", in_saturated_pairs);
    for (const bool wraps : {false, true}) {
      offer("accumulator-overflow",
            wraps ? "the sum wraps around at 16 bits" : "the sum saturates at 16 bits",
            [wraps](const double* a, const double* b, std::size_t stride, std::size_t k) {
              return in_short_sum(a, b, stride, k, wraps);
            });
    }
    return all;
  }
  for (const bool left : {true, false}) {
    const operand& x = c.op().reads[left ? 0 : 1];
    // Both operands rounded are emulated with the accumulators.
    for (const dtype t : {dtype::tf32, dtype::bf16, dtype::f16, dtype::f8e4m3fn}) {
      const grid g = grid_of(t);
      if (grid_of(x.value.type).precision <= g.precision || is_integer(x.value.type)) continue;
      all.push_back({"reduced-input-precision", std::string(x.name) + " was rounded to " + name_of(t),
                     [p, &x, g, left](const expectation& honest) {
                       tensor rounded = x.value;
                       for (double& v : rounded.values) v = g.round(v);
                       product q = p;
                       (left ? q.a : q.b) = &rounded;
                       return on_some(q, honest.judged, plain);
                     }});
    }
    for (const scale_misuse& how : scale_misuses(x)) {
      all.push_back({how.cause, how.form + " (" + std::string(x.name) + ")",
                     [p, &x, how, left](const expectation& honest) {
                       const tensor wrong = misread(x, how);
                       if (wrong.values.empty()) return std::vector<double>();
                       product q = p;
                       (left ? q.a : q.b) = &wrong;
                       return on_some(q, honest.judged, plain);
                     }});
    }
  }
  return all;
}

}  // namespace numdiff::analysis::expect
