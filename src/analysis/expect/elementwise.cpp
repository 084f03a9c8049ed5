// Kinds that map elements to elements: add, multiply, scale, square_root and the activations.
#include <cmath>

#include "analysis/expect/broadcast.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/lost_steps.hpp"
#include "analysis/expect/sum_reviews.hpp"

namespace numdiff::analysis::expect {
namespace {

template <class F>
expectations map(const call& c, std::size_t n, F&& f) {
  expectations e(1);
  e[0].resize(n, c.wide());
  for (std::size_t i = 0; i < n; ++i) f(e[0], i);
  return e;
}

double square(double x) {
  return x * x;
}

// Rounding of one inner result, nothing when the format holds it.
double step_variance(const accumulator& a, long double exact) {
  const auto x = static_cast<double>(exact);
  if (!std::isfinite(x) || (static_cast<long double>(x) == exact && a.numbers.holds(x))) return 0;
  return square(a.numbers.ulp(x)) / (a.truncates ? 3 : 12);
}

template <class R>
R sigmoid(R x) {
  return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

constexpr long double sqrt_2_over_pi = 0.797884560802865355879892119868763737L;

template <class R>
struct gelu_parts {
  R tanh_z, z, slope, value;  // slope: dz/dx
  explicit gelu_parts(R x) {
    const R k = static_cast<R>(sqrt_2_over_pi), a = static_cast<R>(0.044715L);
    z = k * (x + a * x * x * x);
    slope = k * (1 + 3 * a * x * x);
    tanh_z = std::tanh(z);
    // 1 + tanh(z) = 2 / (1 + exp(-2 z)), without the cancellation at large negative z.
    value = x * sigmoid(2 * z);
  }
};

// The sum of grid values drops few bits and often ties: where the result's spacing is 2^k times the
// smaller spacing of its operands the variance is ulp^2/12 (1 + 2 * 4^-k), and 0 for k <= 0.
expectations sum_of_terms(const call& c, double sign_of_rest) {
  require(c.reads(1), "no input is stored");
  const std::size_t n = c.write(0).values.size();
  std::vector<broadcast> terms;
  for (std::size_t r = 0; r < c.op().reads.size(); ++r) terms.emplace_back(c.read(r), c.write(0).shape);
  const grid out = grid_of(c.write(0).type);
  const bool unscaled = c.write(0).scales.empty();
  const bool twice = c.rounds_twice(0);
  expectations e = map(c, n, [&](expectation& x, std::size_t i) {
    long double total = 0;
    double variance = 0;
    for (std::size_t r = 0; r < terms.size(); ++r) {
      total += static_cast<long double>((r > 0 ? sign_of_rest : 1) * terms[r][i]);
      if (std::isfinite(terms[r][i])) variance += square(c.dequantised() * terms[r][i]);
      const bool last = r + 1 == terms.size();
      if (!last && r > 0) total = c.step(1, total);
      if (r > 0 && (!last || twice)) variance += step_variance(c.sum(), total);
    }
    x.set(i, total, variance);
    // Two partial states of a softmax that saw nothing.
    if (sign_of_rest < 0 && terms[0][i] == -HUGE_VAL && terms[1][i] == -HUGE_VAL)
      x.mark(i, defect::empty_merge);
    if (c.sum().narrow() && variance > 0)
      x.allow(i, std::sqrt(12 * variance * static_cast<double>(terms.size())));
  });
  if (terms.size() == 2 && unscaled && out.precision < 53) {
    const grid a = grid_of(c.read(0).type), b = grid_of(c.read(1).type);
    e[0].rounding.resize(n);
    for (std::size_t i = 0; i < n; ++i) {
      const double x = terms[0][i], y = terms[1][i], z = e[0].exact[i];
      if (z == 0 || !std::isfinite(z) || out.holds(z)) continue;
      const double finest = x == 0 ? b.ulp(y) : y == 0 ? a.ulp(x) : std::min(a.ulp(x), b.ulp(y));
      const double step = out.ulp(z);
      e[0].rounding[i] = finest >= step ? 0 : square(step) / 12 * (1 + 2 * square(finest / step));
    }
    const rounding mode = static_cast<rounding>(c.op().row->output_rounding);
    if (mode == rounding::toward_zero || mode == rounding::stochastic) e[0].rounding.clear();
  }
  e[0].review = [&c](const expectation& honest, judgement& j) { review_sum(c, honest, j); };
  return e;
}

// What one number multiplies all elements by; 1/n where it is that of a whole number.
void know_multiplier(expectation& e, double factor) {
  e.know_factor("the factor", factor);
  const double count = factor != 0 ? std::nearbyint(1 / factor) : 0;
  if (count >= 2 && std::fabs(count * factor - 1) < 1e-6) e.divisor = count;
}

}  // namespace

expectations add(const call& c) {
  return sum_of_terms(c, 1);
}

expectations subtract(const call& c) {
  require(c.op().reads.size() == 2, "a difference of two");
  return sum_of_terms(c, -1);
}

expectations multiply(const call& c) {
  const broadcast x(c.read(0), c.write(0).shape), y(c.read(1), c.write(0).shape);
  expectations product = map(c, c.write(0).values.size(), [&](expectation& e, std::size_t i) {
    // A factor of zero masks what is not finite.
    if ((x[i] == 0 && !std::isfinite(y[i])) || (y[i] == 0 && !std::isfinite(x[i]))) {
      e.mark(i, defect::masked_value);
      return;
    }
    const long double v = static_cast<long double>(x[i]) * static_cast<long double>(y[i]);
    e.set(i, v, c.rounds_twice(0) ? step_variance(c.sum(), v) : 0);
  });
  for (std::size_t r = 0; r < 2; ++r)
    if (c.read(r).values.size() == 1) know_multiplier(product[0], c.read(r).values[0]);
  product[0].review = [&c](const expectation& honest, judgement& j) {
    for (std::size_t r = 0; r < 2; ++r)
      if (c.read(1 - r).values.size() == 1) review_steps(c, c.op().reads[r], honest, j);
  };
  return product;
}

// The factor may have been rounded to the op's inner format: one common relative error.
expectations scale(const call& c) {
  const tensor& x = c.read(0);
  const double factor = c.scalar("factor");
  const double rounded = c.sum().numbers.round(factor);
  const double off = factor != 0 ? std::fabs(rounded / factor - 1) : 0;
  const double inverse = factor != 0 ? std::nearbyint(1 / factor) : 0;
  const double near_whole = std::fabs(inverse * factor - 1);
  const double inverse_off = inverse >= 2 && near_whole < 0x1p-23 ? near_whole : 0;
  const std::size_t n = x.values.size();
  expectations scaled = map(c, n, [&](expectation& e, std::size_t i) {
    const long double v = static_cast<long double>(x.values[i]) * static_cast<long double>(factor);
    const double size = std::fabs(static_cast<double>(v));
    e.set(i, v, c.rounds_twice(0) ? step_variance(c.sum(), v) : 0);
    // Some divide by the whole number whose rounded inverse is told.
    if (off + inverse_off > 0) e.allow(i, (off + inverse_off) * size + c.sum().numbers.smallest());
  });
  know_multiplier(scaled[0], factor);
  scaled[0].review = [&c](const expectation& honest, judgement& j) {
    review_steps(c, c.op().reads[0], honest, j);
  };
  return scaled;
}

expectations square_root(const call& c) {
  const tensor& x = c.read(0);
  return map(c, x.values.size(), [&](expectation& e, std::size_t i) {
    const long double v = std::sqrt(static_cast<long double>(x.values[i]));
    e.set(i, v, square(c.rho() * static_cast<double>(v)));
  });
}

// Inner errors of the activations: an exponential of x is off by |x| units through its argument, each
// further operation by one unit.
expectations silu(const call& c) {
  const tensor& x = c.read(0);
  return in_precision_of(c, [&]<class R>() {
    return map(c, x.values.size(), [&](expectation& e, std::size_t i) {
      const R v = static_cast<R>(x.values[i]), y = v * c.step(1, sigmoid(v));
      e.set(i, y, square(c.rho() * static_cast<double>(y)) * (4 + square(x.values[i])));
      e.allow(i, c.tiny() * std::fabs(x.values[i]));
    });
  });
}

expectations silu_gradient(const call& c) {
  const tensor &dy = c.read(0), &x = c.read(1);
  require(dy.values.size() == x.values.size(), "operands of different size");
  return in_precision_of(c, [&]<class R>() {
    return map(c, x.values.size(), [&](expectation& e, std::size_t i) {
      const R v = static_cast<R>(x.values[i]), s = c.step(1, sigmoid(v)), rest = sigmoid(-v);
      const R g = static_cast<R>(dy.values[i]);
      e.set(i, g * c.step(2, s * (1 + v * rest)),
            square(c.rho() * static_cast<double>(g * s)) *
                (4 + square(static_cast<double>(v * rest)) * 4 + square(x.values[i])));
      e.allow(i, c.tiny() * std::fabs(dy.values[i]) * (1 + std::fabs(x.values[i])));
    });
  });
}

expectations gelu(const call& c) {
  const tensor& x = c.read(0);
  return in_precision_of(c, [&]<class R>() {
    return map(c, x.values.size(), [&](expectation& e, std::size_t i) {
      const R v = static_cast<R>(x.values[i]);
      const gelu_parts<R> p(v);
      const auto sech = static_cast<double>(1 - p.tanh_z * p.tanh_z), z = static_cast<double>(p.z);
      // 1 + tanh(z) is formed in the op's arithmetic: its error is of the size of 1 also where it cancels.
      e.set(i, v * c.step(2, sigmoid(2 * c.step(1, p.z))),
            square(c.rho() * x.values[i]) * (1 + square(2 * sech * z)) +
                square(2 * c.rho() * static_cast<double>(p.value)));
    });
  });
}

expectations gelu_gradient(const call& c) {
  const tensor &dy = c.read(0), &x = c.read(1);
  require(dy.values.size() == x.values.size(), "operands of different size");
  return in_precision_of(c, [&]<class R>() {
    return map(c, x.values.size(), [&](expectation& e, std::size_t i) {
      const R v = static_cast<R>(x.values[i]), g = static_cast<R>(dy.values[i]);
      const gelu_parts<R> p(v);
      const R half = sigmoid(2 * p.z), sech = 4 * half * sigmoid(-2 * p.z);
      const R bend = v * sech * p.slope / 2;
      const auto z = static_cast<double>(p.z);
      e.set(i, g * c.step(1, half + bend),
            square(c.rho() * static_cast<double>(g)) *
                (1 + square(2 * static_cast<double>(sech) * z) +
                 square(static_cast<double>(bend)) * (8 + square(4 * z)) +
                 square(static_cast<double>(v * p.slope))));
    });
  });
}

expectations swiglu(const call& c) {
  const tensor &gate = c.read(0), &up = c.read(1);
  require(gate.values.size() == up.values.size(), "operands of different size");
  return in_precision_of(c, [&]<class R>() {
    return map(c, gate.values.size(), [&](expectation& e, std::size_t i) {
      const R v = static_cast<R>(gate.values[i]), s = c.step(2, v * c.step(1, sigmoid(v)));
      const R y = s * static_cast<R>(up.values[i]);
      e.set(i, y, square(c.rho() * static_cast<double>(y)) * (5 + square(gate.values[i])));
      e.allow(i, c.tiny() * std::fabs(gate.values[i] * up.values[i]));
    });
  });
}

expectations swiglu_gradient(const call& c) {
  const tensor &dy = c.read(0), &gate = c.read(1), &up = c.read(2);
  const std::size_t n = dy.values.size();
  require(gate.values.size() == n && up.values.size() == n, "operands of different size");
  return in_precision_of(c, [&]<class R>() {
    expectations e(2);
    e[0].resize(n, c.wide());
    e[1].resize(n, c.wide());
    for (std::size_t i = 0; i < n; ++i) {
      const R v = static_cast<R>(gate.values[i]), s = c.step(1, sigmoid(v)), rest = sigmoid(-v);
      const R g = static_cast<R>(dy.values[i]), u = static_cast<R>(up.values[i]);
      e[0].set(i, c.step(2, g * u) * s * (1 + v * rest),
               square(c.rho() * static_cast<double>(g * u * s)) *
                   (5 + square(static_cast<double>(v * rest)) * 5 + square(gate.values[i])));
      const R du = g * v * s;
      const double lost = c.tiny() * std::fabs(dy.values[i]);
      e[0].allow(i, lost * std::fabs(up.values[i]) * (1 + std::fabs(gate.values[i])));
      e[1].allow(i, lost * std::fabs(gate.values[i]));
      e[1].set(i, du, square(c.rho() * static_cast<double>(du)) * (5 + square(gate.values[i])));
    }
    return e;
  });
}

}  // namespace numdiff::analysis::expect
