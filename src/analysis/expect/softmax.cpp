// softmax, its gradient, cross-entropy and its gradient, over rows of the last dimension.
#include <algorithm>
#include <cmath>

#include "analysis/expect/hidden.hpp"
#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

// One row of softmax(scale * x) in shifted form.
template <class R>
struct soft_row {
  R top = 0, total = 0;
  double sum_sigma = 0, sum_bound = 0;  // relative
  bool masked = false, poisoned = false;

  soft_row(const call& c, const double* x, std::size_t n, R scale) {
    top = -std::numeric_limits<R>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
      const R z = c.step(1, scale * static_cast<R>(x[i]));
      poisoned = poisoned || std::isnan(z) || z == std::numeric_limits<R>::infinity();
      top = std::max(top, z);
    }
    masked = !poisoned && n > 0 && std::isinf(top);
    chain<R> s(c.sum(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n && !masked && !poisoned; ++i)
      s.add(c.step(2, std::exp(c.step(1, scale * static_cast<R>(x[i])) - top)));
    s.finish();
    total = s.value();
    if (total > 0) {
      sum_sigma = std::sqrt(s.variance()) / static_cast<double>(total);
      sum_bound = s.bound() / static_cast<double>(total);
    }
  }
  // Relative variance of one exponential over the sum: the argument's absolute error is its relative
  // one (Blanchard, Higham and Higham, 2021).
  [[nodiscard]] double relative(double rho, double z) const {
    return square(rho) *
               (4 + square(z) + square(z - static_cast<double>(top)) + square(static_cast<double>(top))) +
           square(sum_sigma);
  }
};

// The input with minus infinity where its view hid it.
tensor shown(const call& c) {
  tensor x = c.read(0);
  require(c.write(0).values.size() == x.values.size(), "operands of different size");
  const std::vector<std::uint8_t> hidden = hidden_places(c.op().reads[0], c.write(0));
  for (std::size_t i = 0; i < hidden.size(); ++i) {
    if (hidden[i] != 0) x.values[i] = -std::numeric_limits<double>::infinity();
  }
  return x;
}

}  // namespace

expectations softmax(const call& c) {
  const tensor x = shown(c);
  const std::size_t n = last_of(x.shape), rows = n > 0 ? x.values.size() / n : 0;
  return in_precision_of(c, [&]<class R>() {
    const R scale = static_cast<R>(c.scalar("scale", 1));
    const output_format out = output_format_of(c.op(), c.op().writes.at(0));
    expectations e(1);
    e[0].resize(x.values.size(), c.wide());
    std::int64_t undefined = 0;
    double fill = 0;
    if (c.op().writes[0].value.scales.empty()) e[0].rounding.resize(x.values.size());
    for (std::size_t t = 0; t < rows; ++t) {
      const double* row = x.values.data() + t * n;
      const soft_row<R> s(c, row, n, scale);
      if (s.masked && std::isfinite(c.write(0).values[t * n])) {
        ++undefined;
        fill = c.write(0).values[t * n];
      }
      for (std::size_t i = 0; i < n; ++i) {
        const std::size_t at = t * n + i;
        if (s.masked || s.poisoned) {
          e[0].set(at, std::numeric_limits<R>::quiet_NaN(), 0);
          e[0].mark(at, s.masked ? defect::masked_row : defect::inherited);
          continue;
        }
        const R z = c.step(1, scale * static_cast<R>(row[i]));
        const R p = c.step(2, std::exp(z - s.top)) / s.total;
        const auto size = static_cast<double>(p);
        e[0].set(at, p, std::isinf(z) ? 0 : square(size) * s.relative(c.rho(), static_cast<double>(z)));
        e[0].allow(at, size * s.sum_bound + c.tiny());
        if (!e[0].rounding.empty()) {
          // A probability that rounds to one is off by its distance from it and not by chance.
          e[0].rounding[at] =
              std::min(out.variance(size, at), size > 0.5 && out.rounded(size, at, out.mode) == 1
                                                   ? static_cast<double>((1 - p) * (1 - p))
                                                   : HUGE_VAL);
        }
      }
    }
    e[0].review = [undefined, fill](const expectation&, judgement& j) {
      if (undefined == 0) return;
      j.evidence.emplace_back("undefined_rows", static_cast<double>(undefined));
      j.evidence.emplace_back("undefined_fill", fill);
    };
    return e;
  });
}

expectations log_sum_exp(const call& c) {
  const tensor& x = c.read(0);
  require(!hides(c.op().reads[0]), "which elements are hidden is not told");
  const std::size_t n = last_of(x.shape), rows = n > 0 ? x.values.size() / n : 0;
  require(c.write(0).values.size() == rows, "an output of another shape than its inputs imply");
  return in_precision_of(c, [&]<class R>() {
    const R scale = static_cast<R>(c.scalar("scale", 1));
    expectations e(1);
    e[0].resize(rows, c.wide());
    for (std::size_t t = 0; t < rows; ++t) {
      const double* row = x.values.data() + t * n;
      const soft_row<R> s(c, row, n, scale);
      if (s.poisoned) {
        e[0].set(t, std::numeric_limits<R>::quiet_NaN(), 0);
        e[0].mark(t, defect::inherited);
        continue;
      }
      if (s.masked) {
        e[0].set(t, s.top, 0);
        e[0].mark(t, defect::masked_row);
        continue;
      }
      // An error of an argument counts by its probability.
      double arguments = 0;
      for (std::size_t i = 0; i < n; ++i) {
        const R z = scale * static_cast<R>(row[i]);
        if (std::isinf(z)) continue;
        const auto p = static_cast<double>(std::exp(z - s.top) / s.total);
        arguments += square(p) * s.relative(c.rho(), static_cast<double>(z));
      }
      const R log = c.step(3, std::log(s.total)), v = s.top + log;
      e[0].set(t, v,
               arguments + square(s.sum_sigma) +
                   square(c.rho()) * (square(static_cast<double>(log)) + square(static_cast<double>(v))));
      e[0].allow(t, s.sum_bound + c.tiny());
    }
    e[0].know_factor("the scale", static_cast<double>(scale));
    return e;
  });
}

expectations softmax_gradient(const call& c) {
  const tensor &dp = c.read(0), &p = c.read(1);
  require(dp.values.size() == p.values.size(), "operands of different size");
  const std::size_t n = last_of(p.shape), rows = n > 0 ? p.values.size() / n : 0;
  return in_precision_of(c, [&]<class R>() {
    const R scale = static_cast<R>(c.scalar("scale", 1));
    const auto factor = std::fabs(static_cast<double>(scale));
    expectations e(1);
    e[0].resize(p.values.size(), c.wide());
    for (std::size_t t = 0; t < rows; ++t) {
      chain<R> dot(c.sum(), static_cast<std::int64_t>(n));
      for (std::size_t i = t * n; i < (t + 1) * n; ++i) {
        dot.add(static_cast<R>(dp.values[i]) * static_cast<R>(p.values[i]));
      }
      dot.finish();
      const auto size = std::fabs(static_cast<double>(dot.value()));
      for (std::size_t i = t * n; i < (t + 1) * n; ++i) {
        const R difference = c.step(1, static_cast<R>(dp.values[i]) - dot.value());
        const R v = scale * c.step(2, static_cast<R>(p.values[i]) * difference);
        const double weight = factor * std::fabs(p.values[i]);
        e[0].set(i, v,
                 square(weight) * (dot.variance() + square(c.rho() * (std::fabs(dp.values[i]) + size))) +
                     square(2 * c.rho() * static_cast<double>(v)));
        e[0].allow(i, weight * dot.bound() + c.tiny() * (1 + factor));
      }
    }
    e[0].know_factor("the scale", static_cast<double>(scale));
    return e;
  });
}

namespace {

struct targets {
  std::size_t rows, classes;
  const tensor &logits, &ids;
  std::vector<std::uint8_t> hidden;
  explicit targets(const call& c)
      : rows(0),
        classes(last_of(c.read(0).shape)),
        logits(c.read(0)),
        ids(c.read(1)),
        hidden(hidden_by_code(c.op().reads[1])) {
    require(classes > 0 && ids.values.size() * classes == logits.values.size(),
            "logits and targets do not fit");
    rows = ids.values.size();
  }
  // Hidden, negative or too large: a row that is left out (padding).
  [[nodiscard]] std::ptrdiff_t at(std::size_t t) const {
    if (!hidden.empty() && hidden[t] != 0) return -1;
    const double id = ids.values[t];
    return id >= 0 && id < static_cast<double>(classes) ? static_cast<std::ptrdiff_t>(id) : -1;
  }
};

}  // namespace

expectations cross_entropy(const call& c) {
  const targets rows(c);
  return in_precision_of(c, [&]<class R>() {
    const R count = static_cast<R>(c.scalar("count"));
    chain<R> sum(c.sum(), static_cast<std::int64_t>(rows.rows));
    double variance = 0, bound = 0;
    for (std::size_t t = 0; t < rows.rows; ++t) {
      const std::ptrdiff_t y = rows.at(t);
      if (y < 0) continue;
      const double* x = rows.logits.values.data() + t * rows.classes;
      const soft_row<R> s(c, x, rows.classes, 1);
      const R lse = c.step(3, std::log(s.total) + s.top);
      sum.add(lse - static_cast<R>(x[y]));
      variance +=
          square(s.sum_sigma) + square(c.rho()) * (square(static_cast<double>(s.top)) * 2 +
                                                   square(static_cast<double>(lse)) + square(x[y]) + 4);
      bound += s.sum_bound;
    }
    sum.finish();
    const auto n = static_cast<double>(count);
    expectations e(1);
    e[0].resize(1, c.wide());
    e[0].set(
        0, sum.value() / count,
        (variance + sum.variance()) / square(n) + square(c.rho() * static_cast<double>(sum.value()) / n));
    if (sum.bound() + bound > 0) e[0].allow(0, (sum.bound() + bound) / n);
    // A loss of no target at all is what the program wants it to be.
    if (n == 0) {
      e[0].mark(0, defect::masked_row);
      return e;
    }
    e[0].know_factor("the division by the count", 1 / n);
    e[0].divisor = n;
    return e;
  });
}

expectations cross_entropy_gradient(const call& c) {
  const targets rows(c);
  return in_precision_of(c, [&]<class R>() {
    const R factor = static_cast<R>(c.scalar("factor", 1)) / static_cast<R>(c.scalar("count"));
    expectations e(1);
    e[0].resize(rows.logits.values.size(), c.wide());
    for (std::size_t t = 0; t < rows.rows; ++t) {
      const std::ptrdiff_t y = rows.at(t);
      const double* x = rows.logits.values.data() + t * rows.classes;
      const soft_row<R> s(c, x, rows.classes, 1);
      for (std::size_t i = 0; i < rows.classes; ++i) {
        const std::size_t at = t * rows.classes + i;
        if (s.masked || s.poisoned) {
          e[0].set(at, std::numeric_limits<R>::quiet_NaN(), 0);
          e[0].mark(at, s.masked ? defect::masked_row : defect::inherited);
          continue;
        }
        if (y < 0) continue;
        const R p = c.step(3, c.step(2, std::exp(static_cast<R>(x[i]) - s.top)) / s.total);
        const R v = (p - (static_cast<std::ptrdiff_t>(i) == y ? 1 : 0)) * factor;
        const auto size = static_cast<double>(p), f = std::fabs(static_cast<double>(factor));
        e[0].set(at, v,
                 square(f * size) * s.relative(c.rho(), x[i]) + square(c.rho() * static_cast<double>(v)) * 3);
        e[0].allow(at, f * (size * s.sum_bound + c.tiny()));
      }
    }
    e[0].know_factor("the division by the count", 1 / c.scalar("count"));
    e[0].divisor = c.scalar("count");
    const double loss_scale = c.scalar("factor", 1);
    if (loss_scale != 1 && loss_scale != 0) {
      e[0].try_factor("loss-scale", "the loss scale was not applied", 1 / loss_scale);
      e[0].try_factor("loss-scale", "the loss scale was applied twice", loss_scale);
    }
    return e;
  });
}

}  // namespace numdiff::analysis::expect
