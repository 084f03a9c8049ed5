#pragma once
// Honest executions of ops in any formats, through numdiff's own casts, and the records they would leave.
#include <algorithm>
#include <cmath>
#include <deque>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "analysis/expect/replay.hpp"
#include "numdiff/accumulate.hpp"
#include "numdiff/convert.hpp"

namespace numdiff::test {

using analysis::judgement;
using analysis::op_instance;
using analysis::replayed;
using analysis::tensor;
using values = std::vector<double>;
using extents = std::vector<std::int64_t>;

// Values as the format holds them; a scale per element where given.
inline tensor stored(dtype t, const extents& shape, const values& exact,
                     rounding mode = rounding::nearest_even, const values& scales = {}) {
  tensor x;
  x.type = t;
  x.shape = shape;
  x.scales = scales;
  x.values = exact;
  x.codes.resize(exact.size() * bytes_of(t));
  for (std::size_t i = 0; i < scales.size(); ++i) {
    x.values[i] = static_cast<double>(static_cast<float>(exact[i] / scales[i]));
  }
  encode(t, x.values.data(), x.codes.data(), x.values.size(), {mode, overflow::usual});
  decode(t, x.codes.data(), x.values.data(), x.values.size());
  for (std::size_t i = 0; i < scales.size(); ++i) x.values[i] *= scales[i];
  return x;
}

// An op with the rows its operands point to.
class execution {
 public:
  execution(std::string kind, dtype in, dtype accumulate, dtype out) : kind_(std::move(kind)) {
    row_.input_dtype = static_cast<std::uint16_t>(in);
    row_.accumulate_dtype = static_cast<std::uint16_t>(accumulate);
    row_.output_dtype = static_cast<std::uint16_t>(out);
    row_.phase = static_cast<std::uint16_t>(phase::forward);
  }
  // Operands point to rows: a copy would point to those of another.
  execution(const execution&) = delete;
  execution(execution&&) = default;
  ~execution() = default;
  execution& operator=(const execution&) = delete;
  execution& operator=(execution&&) = default;
  detail::op_row& row() { return row_; }
  // `scaling`: the text of the row, where the tensor has scales.
  execution& read(tensor x, role r = role::input, const char* scaling = "", const char* name = "") {
    reads_.push_back(make(std::move(x), r, scaling));
    reads_.back().name = name;
    return *this;
  }
  execution& write(tensor x, role r = role::output, const char* scaling = "") {
    writes_.push_back(make(std::move(x), r, scaling));
    return *this;
  }
  // Elements of a read that its view hides: stored as zero and counted.
  execution& hide(std::size_t read, const std::vector<std::size_t>& places) {
    tensor& x = reads_[read].value;
    const std::size_t size = x.codes.size() / x.values.size();
    for (const std::size_t i : places) {
      x.values[i] = 0;
      std::fill_n(x.codes.begin() + static_cast<std::ptrdiff_t>(i * size), size, std::byte{0});
    }
    for (detail::capture_row& row : rows_)
      if (&row == reads_[read].row) row.hidden = static_cast<std::int64_t>(places.size());
    return *this;
  }
  execution& scalar(const std::string& name, double value) {
    scalars_[name] = value;
    return *this;
  }
  tensor& output(std::size_t i = 0) { return writes_[i].value; }
  tensor& input(std::size_t i) { return reads_[i].value; }
  [[nodiscard]] op_instance instance() const {
    op_instance op;
    op.row = &row_;
    op.kind = kind_;
    op.reads = reads_;
    op.writes = writes_;
    op.scalars = scalars_;
    return op;
  }
  [[nodiscard]] replayed replay() const { return analysis::replay(instance()); }

 private:
  analysis::operand make(tensor x, role r, const char* scaling) {
    rows_.emplace_back();
    rows_.back().role = static_cast<std::uint16_t>(r);
    analysis::operand o;
    o.row = &rows_.back();
    o.value = std::move(x);
    o.scaling = scaling;
    return o;
  }

  std::string kind_;
  detail::op_row row_{};
  std::deque<detail::capture_row> rows_;
  std::vector<analysis::operand> reads_, writes_;
  std::map<std::string, double, std::less<>> scalars_;
};

enum class spread_of { normal, positive, heavy, outliers, tiny };
inline constexpr spread_of all_spreads[] = {spread_of::normal, spread_of::positive, spread_of::heavy,
                                            spread_of::outliers, spread_of::tiny};

class sampler {
 public:
  explicit sampler(unsigned seed) : engine_(seed) {}
  std::int64_t between(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(engine_);
  }
  double normal() { return gauss_(engine_); }
  values draw(std::size_t n, spread_of s, std::size_t width = 16) {
    values x(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double g = gauss_(engine_);
      switch (s) {
        case spread_of::normal: x[i] = g; break;
        case spread_of::positive: x[i] = std::fabs(g) + 0.01; break;
        case spread_of::heavy: x[i] = g / std::sqrt((square() + square() + square()) / 3 + 1e-3); break;
        case spread_of::outliers: x[i] = i % width == 1 ? 40 * g : g; break;
        case spread_of::tiny: x[i] = std::ldexp(g, -18); break;
      }
    }
    return x;
  }
  std::mt19937& engine() { return engine_; }

 private:
  double square() {
    const double g = gauss_(engine_);
    return g * g;
  }
  std::mt19937 engine_;
  std::normal_distribution<double> gauss_;
};

// How a product adds up.
struct adding {
  dtype type = dtype::f32;
  std::size_t block = 1;  // lanes of partial sums, added at the end
  bool reversed = false;
};

inline double dot(const adding& how, const double* a, const double* b, std::size_t stride, std::size_t k) {
  if (how.type == dtype::f64) {
    double s = 0;
    for (std::size_t i = 0; i < k; ++i) s += a[i] * b[i * stride];
    return s;
  }
  std::vector<double> lanes(how.block, 0.0);
  for (std::size_t q = 0; q < k; ++q) {
    const std::size_t i = how.reversed ? k - 1 - q : q;
    double& lane = lanes[q % how.block];
    lane = multiply_add_rounded(how.type, lane, a[i], b[i * stride]);
  }
  double s = lanes[0];
  for (std::size_t l = 1; l < how.block; ++l) s = add_rounded(how.type, s, lanes[l]);
  return s;
}

inline values product(const adding& how, const tensor& a, const tensor& b, std::size_t m, std::size_t n,
                      std::size_t k) {
  values c(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j)
      c[i * n + j] = dot(how, a.values.data() + i * k, b.values.data() + j, n, k);
  }
  return c;
}

// Inner arithmetic of elementwise kinds and row kinds in float or double.
template <class A>
A as(double x) {
  return static_cast<A>(x);
}

template <class A>
values softmax_of(const values& x, std::size_t n, A scale) {
  values y(x.size());
  for (std::size_t t = 0; t < x.size() / n; ++t) {
    A top = -std::numeric_limits<A>::infinity(), sum = 0;
    for (std::size_t i = 0; i < n; ++i) top = std::max(top, scale * as<A>(x[t * n + i]));
    for (std::size_t i = 0; i < n; ++i) sum += std::exp(scale * as<A>(x[t * n + i]) - top);
    for (std::size_t i = 0; i < n; ++i) y[t * n + i] = std::exp(scale * as<A>(x[t * n + i]) - top) / sum;
  }
  return y;
}

template <class A>
values rms_norm_of(const values& x, const values& gamma, A eps) {
  const std::size_t n = gamma.size();
  values y(x.size());
  for (std::size_t t = 0; t < x.size() / n; ++t) {
    A sum = 0;
    for (std::size_t i = 0; i < n; ++i) sum += as<A>(x[t * n + i]) * as<A>(x[t * n + i]);
    const A r = 1 / std::sqrt(sum / static_cast<A>(n) + eps);
    for (std::size_t i = 0; i < n; ++i) y[t * n + i] = as<A>(x[t * n + i]) * r * as<A>(gamma[i]);
  }
  return y;
}

template <class A>
values layer_norm_of(const values& x, const values& gamma, const values& beta, A eps) {
  const std::size_t n = gamma.size();
  values y(x.size());
  for (std::size_t t = 0; t < x.size() / n; ++t) {
    A sum = 0, squares = 0;
    for (std::size_t i = 0; i < n; ++i) sum += as<A>(x[t * n + i]);
    const A mean = sum / static_cast<A>(n);
    for (std::size_t i = 0; i < n; ++i)
      squares += (as<A>(x[t * n + i]) - mean) * (as<A>(x[t * n + i]) - mean);
    const A r = 1 / std::sqrt(squares / static_cast<A>(n) + eps);
    for (std::size_t i = 0; i < n; ++i) {
      y[t * n + i] = (as<A>(x[t * n + i]) - mean) * r * as<A>(gamma[i]) + as<A>(beta[i]);
    }
  }
  return y;
}

}  // namespace numdiff::test
