// Faulty integer products and misused scales, on enough elements to tell them from each other. Accumulators
// of floating-point products are told apart by forensics.hpp.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/emulation.hpp"
#include "analysis/expect/scale_misuse.hpp"
#include "numdiff/convert.hpp"

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

// What 16 bits make of a sum.
enum class short_of { nothing, saturating, wrapping };

double in_16_bits(double sum, short_of how) {
  switch (how) {
    case short_of::saturating: return std::clamp(sum, -32768.0, 32767.0);
    case short_of::wrapping:
      return static_cast<double>(static_cast<std::int16_t>(static_cast<std::int64_t>(sum)));
    case short_of::nothing: break;
  }
  return sum;
}

// Byte products that are added in pairs, as some CPUs do, and these one after the other; each sum may be one
// of 16 bits.
struct short_sums {
  std::size_t together;  // products of a pair, or 1
  short_of pair, running;
  const char* form;
};
constexpr short_sums shortened[] = {
    {2, short_of::saturating, short_of::nothing, "pairs of products saturate at 16 bits"},
    {2, short_of::wrapping, short_of::nothing, "pairs of products wrap around at 16 bits"},
    {1, short_of::nothing, short_of::saturating, "the sum saturates at 16 bits"},
    {1, short_of::nothing, short_of::wrapping, "the sum wraps around at 16 bits"},
    {2, short_of::saturating, short_of::saturating, "pairs of products and their sum saturate at 16 bits"},
    {2, short_of::nothing, short_of::saturating, "the sum of pairs saturates at 16 bits"},
    {2, short_of::saturating, short_of::wrapping, "pairs saturate and their sum wraps around at 16 bits"},
};

double in_short_sums(const short_sums& how, const double* a, const double* b, std::size_t stride,
                     std::size_t k) {
  double sum = 0;
  for (std::size_t i = 0; i < k; i += how.together) {
    double pair = a[i] * b[i * stride];
    if (how.together == 2 && i + 1 < k) pair += a[i + 1] * b[(i + 1) * stride];
    sum = in_16_bits(sum + in_16_bits(pair, how.pair), how.running);
  }
  return sum;
}

// The numbers that the kernel multiplies, before zero point and scale.
tensor codes_of(const tensor& x) {
  tensor t = x;
  decode(x.type, x.codes.data(), t.values.data(), t.values.size());
  return t;
}

// The scale of a dot's products; NaN when it changes on the way, so that they are not added as integers.
double common_scale(const product& p, std::size_t at) {
  const std::size_t row = at / p.n, batch = row / p.m;
  const auto of = [&](const tensor& x, std::size_t first, std::size_t stride) {
    if (x.scales.empty()) return 1.0;
    for (std::size_t i = 1; i < p.k; ++i) {
      if (x.scales[first + i * stride] != x.scales[first]) return std::numeric_limits<double>::quiet_NaN();
    }
    return x.scales[first];
  };
  const std::size_t left = static_cast<std::size_t>(p.left(batch) - p.a->values.data()) + row % p.m * p.k;
  const std::size_t right = static_cast<std::size_t>(p.right(batch) - p.b->values.data()) + at % p.n;
  return of(*p.a, left, 1) * of(*p.b, right, p.n);
}

// Corrections for zero points and the addend stand beside the sum and are right.
std::vector<double> with_short_sums(const product& p, const short_sums& how, const expectation& honest) {
  const tensor a = codes_of(*p.a), b = codes_of(*p.b);
  product q = p;
  q.a = &a;
  q.b = &b;
  q.alpha = 1;
  q.addend = nullptr;
  std::vector<double> values =
      on_some(q, honest.judged, [&how](const double* x, const double* y, std::size_t stride, std::size_t k) {
        return in_short_sums(how, x, y, stride, k) - plain(x, y, stride, k);
      });
  for (std::size_t at = 0; at < values.size(); ++at) {
    if (!std::isnan(values[at])) values[at] = honest.exact[at] + p.alpha * common_scale(p, at) * values[at];
  }
  return values;
}

}  // namespace

std::vector<hypothesis> product_hypotheses(const call& c, const product& p) {
  std::vector<hypothesis> all;
  if (is_integer(p.a->type) && is_integer(p.b->type) && bytes_of(p.a->type) == 1 &&
      bytes_of(p.b->type) == 1) {
    for (const short_sums& how : shortened) {
      all.push_back({"accumulator-overflow", how.form,
                     [p, how](const expectation& honest) { return with_short_sums(p, how, honest); }});
    }
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
