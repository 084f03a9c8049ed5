// Faulty products, computed on enough elements to tell them from each other.
#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/matmul.hpp"
#include "numdiff/accumulate.hpp"
#include "numdiff/truncating.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double emulated_multiply_adds = 0x1p19;
constexpr double searched_multiply_adds = 0x1p15;  // where many candidates are tried

using dot = std::function<double(const double* a, const double* b, std::size_t stride, std::size_t k)>;

// The dot on a spread of the judged elements.
std::vector<double> on_some(const product& p, const std::vector<std::int64_t>& judged, const dot& f,
                            double multiply_adds) {
  std::vector<double> values(p.c->values.size(), std::numeric_limits<double>::quiet_NaN());
  const std::size_t total = judged.empty() ? values.size() : judged.size();
  const auto wanted =
      std::max<std::size_t>(16, static_cast<std::size_t>(multiply_adds / static_cast<double>(p.k)));
  const std::size_t step = total <= wanted ? 1 : (total / wanted) | 1;
  for (std::size_t q = 0; q < total; q += step) {
    const std::size_t at = judged.empty() ? q : static_cast<std::size_t>(judged[q]);
    const std::size_t row = at / p.n, batch = row / p.m;
    const double sum = f(p.left(batch) + row % p.m * p.k, p.right(batch) + at % p.n, p.n, p.k);
    values[at] = p.alpha * sum + p.added(at);
  }
  return values;
}

// Chunks of `chunk` products are added in double and rounded into the accumulator.
double accumulated(dtype t, bool rounds_products, std::size_t chunk, const double* a, const double* b,
                   std::size_t stride, std::size_t k) {
  double sum = 0, part = 0;
  for (std::size_t i = 0; i < k; ++i) {
    const double x = a[i] * b[i * stride];
    part += rounds_products ? numdiff::decode(t, encode(t, x)) : x;
    if ((i + 1) % chunk == 0 || i + 1 == k) {
      sum = add_rounded(t, sum, part);
      part = 0;
    }
  }
  return sum;
}

// Interleaved running sums.
double in_lanes(dtype t, std::size_t lanes, const double* a, const double* b, std::size_t stride,
                std::size_t k) {
  std::vector<double> sums(lanes, 0.0);
  for (std::size_t i = 0; i < k; ++i) sums[i % lanes] = add_rounded(t, sums[i % lanes], a[i] * b[i * stride]);
  double sum = 0;
  for (const double lane : sums) sum = add_rounded(t, sum, lane);
  return sum;
}

// Equal parts of the contraction, each rounded, then added.
double from_parts(dtype t, std::size_t parts, const double* a, const double* b, std::size_t stride,
                  std::size_t k) {
  double sum = 0;
  const std::size_t length = (k + parts - 1) / parts;
  for (std::size_t first = 0; first < k; first += length) {
    double part = 0;
    for (std::size_t i = first; i < std::min(k, first + length); ++i) part += a[i] * b[i * stride];
    sum += numdiff::decode(t, encode(t, part));
  }
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

}  // namespace

std::vector<hypothesis> product_hypotheses(const call& c, const product& p) {
  std::vector<hypothesis> all;
  const auto offer = [&](const char* cause, std::string form, dot f, double budget = emulated_multiply_adds) {
    all.push_back({cause, std::move(form), [p, f = std::move(f), budget](const expectation& honest) {
                     return on_some(p, honest.judged, f, budget);
                   }});
  };
  if (is_integer(p.a->type) && is_integer(p.b->type) && bytes_of(p.a->type) == 1 &&
      bytes_of(p.b->type) == 1) {
    offer("accumulator-overflow", "pairs of products saturate at 16 bits", in_saturated_pairs);
    return all;
  }
  const int held = std::max(grid_of(p.a->type).precision, grid_of(p.b->type).precision);
  struct reduced {
    dtype type;
    rounding mode;
    const char* form;
  };
  for (const reduced r :
       {reduced{dtype::tf32, rounding::nearest_even, "inputs were rounded to tf32"},
        reduced{dtype::tf32, rounding::toward_zero, "inputs were cut to tf32"},
        reduced{dtype::bf16, rounding::nearest_even, "inputs were rounded to bf16"},
        reduced{dtype::f16, rounding::nearest_even, "inputs were rounded to f16"},
        reduced{dtype::f8e4m3fn, rounding::nearest_even, "inputs were rounded to f8e4m3fn"}}) {
    const grid g = grid_of(r.type);
    if (g.precision >= held) continue;
    offer("reduced-input-precision", r.form,
          [g, mode = r.mode](const double* a, const double* b, std::size_t stride, std::size_t k) {
            double sum = 0;
            for (std::size_t i = 0; i < k; ++i) sum += g.round(a[i], mode) * g.round(b[i * stride], mode);
            return sum;
          });
  }
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    if (grid_of(t).precision >= c.sum().numbers.precision) continue;
    const std::string name = name_of(t);
    for (const std::size_t chunk : std::initializer_list<std::size_t>{1, 16, 32, 64, 128}) {
      if (chunk >= p.k) continue;  // one rounding of the whole
      offer("low-precision-accumulate",
            "the accumulator holds " + name + ", rounded every " + std::to_string(chunk) + " products",
            [t, chunk](const double* a, const double* b, std::size_t stride, std::size_t k) {
              return accumulated(t, false, chunk, a, b, stride, k);
            });
    }
    for (const std::size_t lanes : std::initializer_list<std::size_t>{2, 4, 8, 16, 32}) {
      offer("low-precision-accumulate", std::to_string(lanes) + " running sums hold " + name,
            [t, lanes](const double* a, const double* b, std::size_t stride, std::size_t k) {
              return in_lanes(t, lanes, a, b, stride, k);
            });
    }
    offer("low-precision-accumulate", "products and accumulator hold " + name,
          [t](const double* a, const double* b, std::size_t stride, std::size_t k) {
            return accumulated(t, true, 1, a, b, stride, k);
          });
    for (const std::size_t parts : std::initializer_list<std::size_t>{2, 4, 8, 16, 32}) {
      offer("low-precision-partials", std::to_string(parts) + " partial sums were rounded to " + name,
            [t, parts](const double* a, const double* b, std::size_t stride, std::size_t k) {
              return from_parts(t, parts, a, b, stride, k);
            });
    }
  }
  if (c.sum().alignment == 0 || c.sum().promotion > 0) {
    const auto cut = [&](const fused_dot_model& model, std::size_t promotion, double budget) {
      offer(
          "narrow-accumulator",
          "products are cut at " + std::to_string(model.fraction_bits) + " bits, " +
              std::to_string(model.products) + " at a time",
          [model, promotion, a_type = p.a->type, b_type = p.b->type](const double* a, const double* b,
                                                                     std::size_t stride, std::size_t k) {
            return fused_dot(model, {a_type, a, 1}, {b_type, b, static_cast<std::ptrdiff_t>(stride)}, k,
                             promotion);
          },
          budget);
    };
    for (const fused_dot_model& model : {fused_dot_models::hopper_fp8, fused_dot_models::ada_fp8}) {
      for (const std::size_t promotion : std::initializer_list<std::size_t>{0, 128})
        cut(model, promotion, emulated_multiply_adds);
    }
    for (int bits = 10; bits <= 18; ++bits) {
      for (const int products : {4, 8, 16, 32, 64}) {
        for (const std::size_t promotion : std::initializer_list<std::size_t>{0, 64, 128, 256})
          cut({products, bits, bits}, promotion, searched_multiply_adds);
      }
    }
  }
  return all;
}

}  // namespace numdiff::analysis::expect
