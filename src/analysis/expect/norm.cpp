// rms_norm, layer_norm and their gradients, over rows of the last dimension.
#include <algorithm>
#include <cmath>

#include "analysis/expect/kinds.hpp"
#include "analysis/expect/norm_faults.hpp"
#include "analysis/expect/row_moments.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

// Statistics of one row with the relative errors that the op's arithmetic leaves in them.
template <class R>
struct row_statistics {
  R mean = 0, inverse = 0;
  double mean_sigma = 0, mean_bound = 0;        // absolute
  double inverse_sigma = 0, inverse_bound = 0;  // relative
  bool overflowed = false;

  row_statistics(const call& c, const double* x, std::size_t n, double eps, bool centred) {
    const auto length = static_cast<std::int64_t>(n);
    if (centred) {
      chain<R> s(c.sum(), length);
      for (std::size_t i = 0; i < n; ++i) s.add(static_cast<R>(x[i]));
      s.finish();
      mean = s.value() / static_cast<R>(n);
      mean_sigma =
          std::sqrt(s.variance()) / static_cast<double>(n) + c.rho() * std::fabs(static_cast<double>(mean));
      mean_bound = s.bound() / static_cast<double>(n);
    }
    chain<R> s(c.sum(), length);
    for (std::size_t i = 0; i < n; ++i) {
      const R d = static_cast<R>(x[i]) - mean;
      s.add(d * d);
    }
    s.finish();
    const auto total = static_cast<double>(s.value()) + eps * static_cast<double>(n);
    inverse = c.step(4, 1 / std::sqrt(s.value() / static_cast<R>(n) + static_cast<R>(eps)));
    overflowed = s.overflowed();
    if (total > 0) {
      // The mean's error adds its square to the variance; rounding x - mean adds to each term.
      const double shift = static_cast<double>(n) * square(mean_sigma + mean_bound) / total;
      inverse_sigma = std::sqrt(s.variance()) / total / 2 + 2 * c.rho();
      inverse_bound = (s.bound() / total + shift) / 2;
    }
  }
};

template <class R>
expectation normalised(const call& c, bool centred, const double* beta, const moments_of& replaced) {
  const tensor &x = c.read(0), &gamma = c.read(1);
  const norm_rows r(x);
  require(gamma.values.size() == r.length, "a weight of another length than the rows");
  expectation e;
  e.resize(x.values.size(), c.wide());
  const double eps = c.scalar("eps");
  for (std::size_t t = 0; t < r.count; ++t) {
    const double* row = x.values.data() + t * r.length;
    row_statistics<R> s(c, row, r.length, eps, centred);
    if (replaced) {
      const moments m = replaced(row, r.length);
      s.mean = static_cast<R>(m.mean);
      s.inverse = 1 / std::sqrt(static_cast<R>(m.variance) + static_cast<R>(eps));
    }
    for (std::size_t i = 0; i < r.length; ++i) {
      const std::size_t at = t * r.length + i;
      const R difference = c.step(1, static_cast<R>(row[i]) - s.mean);
      const R scaled = c.step(3, c.step(2, difference * s.inverse) * static_cast<R>(gamma.values[i]));
      const double slope = std::fabs(static_cast<double>(s.inverse) * gamma.values[i]);
      const double size = std::fabs(static_cast<double>(scaled));
      const R y = beta != nullptr ? scaled + static_cast<R>(beta[i]) : scaled;
      e.set(at, y,
            square(slope * s.mean_sigma) + square(size * s.inverse_sigma) + square(c.rho() * size) * 3 +
                square(c.rho() * static_cast<double>(y)));
      const double one_sided = slope * s.mean_bound + size * s.inverse_bound;
      if (one_sided > 0) e.allow(at, one_sided);
      if (s.overflowed) e.mark(at, defect::inner_overflow);
    }
  }
  return e;
}

template <class R>
expectations norm(const call& c, bool centred) {
  const double* beta = centred ? c.read(2).values.data() : nullptr;
  if (centred)
    require(c.read(2).values.size() == c.read(1).values.size(), "a bias of another length than the weight");
  expectations e(1);
  e[0] = normalised<R>(c, centred, beta, {});
  return e;
}

// dx = r (g - mean(g) - xhat mean(g xhat)) with g = dy gamma; without the mean(g) for rms_norm.
template <class R>
expectations norm_gradient(const call& c, bool centred) {
  const tensor &dy = c.read(0), &x = c.read(1), &gamma = c.read(2);
  const norm_rows r(x);
  require(dy.values.size() == x.values.size() && gamma.values.size() == r.length,
          "operands of different size");
  const double eps = c.scalar("eps");
  const auto length = static_cast<std::int64_t>(r.length);
  const double n = static_cast<double>(r.length);
  expectations e(centred ? 3 : 2);
  e[0].resize(x.values.size(), c.wide());
  std::vector<chain<R>> dgamma(r.length, chain<R>(c.sum(), static_cast<std::int64_t>(r.count)));
  std::vector<chain<R>> dbeta(centred ? r.length : 0, chain<R>(c.sum(), static_cast<std::int64_t>(r.count)));
  std::vector<double> dgamma_var(r.length), dgamma_bound(r.length);
  for (std::size_t t = 0; t < r.count; ++t) {
    const double* row = x.values.data() + t * r.length;
    const double* up = dy.values.data() + t * r.length;
    const row_statistics<R> s(c, row, r.length, eps, centred);
    const auto inverse = std::fabs(static_cast<double>(s.inverse));
    chain<R> dot(c.sum(), length), total(c.sum(), length);
    for (std::size_t i = 0; i < r.length; ++i) {
      const R g = static_cast<R>(up[i]) * static_cast<R>(gamma.values[i]);
      dot.add(g * (static_cast<R>(row[i]) - s.mean) * s.inverse);
      if (centred) total.add(g);
    }
    dot.finish();
    total.finish();
    const R along = dot.value() / static_cast<R>(r.length), level = total.value() / static_cast<R>(r.length);
    const double spread =
        square(std::sqrt(dot.variance()) / n + 2 * s.inverse_sigma * std::fabs(static_cast<double>(along)));
    const double shift = inverse * (s.mean_sigma + s.mean_bound);  // of xhat
    for (std::size_t i = 0; i < r.length; ++i) {
      const std::size_t at = t * r.length + i;
      const R xhat = (static_cast<R>(row[i]) - s.mean) * s.inverse;
      const R g = static_cast<R>(up[i]) * static_cast<R>(gamma.values[i]);
      const R dx = s.inverse * (g - level - xhat * along);
      const auto h = std::fabs(static_cast<double>(xhat)), a = std::fabs(static_cast<double>(along));
      const double parts = std::fabs(static_cast<double>(g)) + h * a + std::fabs(static_cast<double>(level));
      const double size = std::fabs(static_cast<double>(dx));
      e[0].set(at, dx,
               square(inverse) * (square(c.rho() * parts) * 4 + square(h) * spread +
                                  total.variance() / square(n) + square(shift * a)) +
                   square(size * (s.inverse_sigma + c.rho())));
      const double one_sided = inverse * (h * dot.bound() / n + total.bound() / n) +
                               s.inverse_bound * (size + 2 * inverse * h * a);
      if (one_sided > 0) e[0].allow(at, one_sided);
      dgamma[i].add(static_cast<R>(up[i]) * xhat);
      const double term = std::fabs(up[i]) * h;
      dgamma_var[i] += square(term * (s.inverse_sigma + 2 * c.rho())) + square(up[i] * shift);
      dgamma_bound[i] += term * s.inverse_bound;
      if (centred) dbeta[i].add(static_cast<R>(up[i]));
    }
  }
  const auto columns = [&](expectation& out, std::vector<chain<R>>& sums, bool with_terms) {
    out.resize(r.length, c.wide());
    for (std::size_t i = 0; i < r.length; ++i) {
      sums[i].finish();
      out.set(i, sums[i].value(), sums[i].variance() + (with_terms ? dgamma_var[i] : 0));
      const double one_sided = sums[i].bound() + (with_terms ? dgamma_bound[i] : 0);
      if (one_sided > 0) out.allow(i, one_sided);
    }
  };
  columns(e[1], dgamma, true);
  if (centred) columns(e[2], dbeta, false);
  return e;
}

}  // namespace

namespace {

// Rows whose sum of squares leaves the range become zero, or the bias: nothing that they write is infinite.
// The other rows are summed in `adds`.
void offer_overflow(const call& c, bool centred, const grid& g, const grid& adds, const std::string& name,
                    expectation& e) {
  e.hypotheses.push_back({"op-overflow", "the sum of squares left the range of " + name,
                          [&c, centred, g, adds](const expectation&) {
                            std::int64_t left = 0;
                            const auto overflowing = [&](const double* x, std::size_t n) {
                              moments m = by_passes(x, n, adds, centred);
                              const double mean_square =
                                  by_passes(x, n, grid_of(dtype::f64), centred).variance;
                              const double sum = mean_square * static_cast<double>(n);
                              if (!(sum > g.maximum)) return m;
                              ++left;
                              m.variance = HUGE_VAL;
                              return m;
                            };
                            const double* beta = centred ? c.read(2).values.data() : nullptr;
                            std::vector<double> values =
                                normalised<double>(c, centred, beta, overflowing).exact;
                            return left > 0 ? values : std::vector<double>();
                          }});
}

void offer_statistics(const call& c, bool centred, expectation& e) {
  const auto offer = [&](const char* cause, std::string form, moments_of m) {
    e.hypotheses.push_back(
        {cause, std::move(form), [&c, centred, m = std::move(m)](const expectation&) {
           return normalised<double>(c, centred, centred ? c.read(2).values.data() : nullptr, m).exact;
         }});
  };
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
    const grid g = grid_of(t);
    if (g.precision > c.sum().numbers.precision) continue;
    const std::string name = name_of(t);
    if (centred) {
      offer("cancellation", "the variance was formed as E[x^2] - E[x]^2 in " + name,
            [g](const double* x, std::size_t n) { return by_difference(x, n, g); });
    }
    offer_overflow(c, centred, g, grid_of(dtype::f64), name, e);
    if (g.precision == c.sum().numbers.precision) continue;
    offer_overflow(c, centred, g, g, name, e);
    offer("low-precision-accumulate", "the row's statistics were summed in " + name,
          [g, centred](const double* x, std::size_t n) { return by_passes(x, n, g, centred); });
  }
}

}  // namespace

expectations rms_norm(const call& c) {
  expectations e = in_precision_of(c, [&]<class R>() { return norm<R>(c, false); });
  offer_statistics(c, false, e[0]);
  e[0].review = [&c](const expectation& honest, judgement& j) { review_overflow(c, honest, false, j); };
  return e;
}

expectations layer_norm(const call& c) {
  expectations e = in_precision_of(c, [&]<class R>() { return norm<R>(c, true); });
  offer_statistics(c, true, e[0]);
  e[0].review = [&c](const expectation& honest, judgement& j) {
    review_overflow(c, honest, true, j);
    review_variances(c, honest, j);
  };
  return e;
}

expectations rms_norm_gradient(const call& c) {
  return in_precision_of(c, [&]<class R>() { return norm_gradient<R>(c, false); });
}

expectations layer_norm_gradient(const call& c) {
  return in_precision_of(c, [&]<class R>() { return norm_gradient<R>(c, true); });
}

}  // namespace numdiff::analysis::expect
