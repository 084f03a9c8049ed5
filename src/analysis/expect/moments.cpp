// Statistics over the last dimension, or over everything: mean, variance, maximum, maximum_count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

// The visible elements that each element of the output is made of.
class rows_of {
 public:
  explicit rows_of(const call& c) {
    const tensor& x = c.read(0);
    const std::size_t n = c.write(0).values.size();
    require(n > 0 && x.values.size() % n == 0, "the output is not a part of the input's shape");
    const std::size_t length = x.values.size() / n;
    require(length > 0 && (n == 1 || length == last_of(x.shape)),
            "statistics over other than the last dimension");
    const std::vector<std::uint8_t> hidden = hidden_by_code(c.op().reads[0]);
    values_ = &x.values;
    if (!hidden.empty()) {
      for (std::size_t i = 0; i < hidden.size(); ++i) {
        if (i % length == 0) begin_.push_back(visible_.size());
        if (hidden[i] == 0) visible_.push_back(x.values[i]);
      }
      values_ = &visible_;
    } else {
      for (std::size_t r = 0; r < n; ++r) begin_.push_back(r * length);
    }
    begin_.push_back(values_->size());
    whole_ = length;
  }
  rows_of(const rows_of&) = delete;
  rows_of& operator=(const rows_of&) = delete;
  [[nodiscard]] std::size_t size() const { return begin_.size() - 1; }
  [[nodiscard]] std::size_t whole() const { return whole_; }  // length of a row with its hidden elements
  [[nodiscard]] std::span<const double> operator[](std::size_t row) const {
    return std::span(*values_).subspan(begin_[row], begin_[row + 1] - begin_[row]);
  }

 private:
  const std::vector<double>* values_ = nullptr;
  std::vector<double> visible_;
  std::vector<std::size_t> begin_;
  std::size_t whole_ = 0;
};

template <class F>
expectations rows(const call& c, F&& f) {
  const rows_of x(c);
  expectations e(1);
  e[0].resize(x.size(), c.wide());
  bool empty = false;
  for (std::size_t r = 0; r < x.size(); ++r) empty = empty || x[r].empty();
  for (std::size_t r = 0; r < x.size(); ++r) {
    if (x[r].empty()) continue;  // nothing is seen: any convention
    if (empty) e[0].judged.push_back(static_cast<std::int64_t>(r));
    f(e[0], r, x[r].data(), x[r].size());
  }
  require(!empty || !e[0].judged.empty(), "every row is hidden");
  return e;
}

double squared(double x) {
  return x * x;
}

// What the rounding of n mean squares leaves of a variance that is formed as their difference.
void review_variance(const call& c, judgement& j) {
  const rows_of x(c);
  const std::vector<double>& y = c.write(0).values;
  std::int64_t impossible = 0, noise = 0, off = 0;
  double condition = 0;
  for (std::size_t r = 0; r < y.size(); ++r) {
    long double total = 0, squares = 0, spread = 0;
    const std::span<const double> row = x[r];
    if (row.empty()) continue;
    for (const double v : row) total += static_cast<long double>(v);
    const long double n = static_cast<long double>(row.size()), mean = total / n;
    for (const double one : row) {
      const long double v = static_cast<long double>(one);
      squares += v * v;
      spread += (v - mean) * (v - mean);
    }
    if (!std::isfinite(y[r]) || !std::isfinite(static_cast<double>(squares))) continue;
    const auto mean_square = static_cast<double>(squares / n), exact = static_cast<double>(spread / n);
    const double error = std::fabs(y[r] - exact);
    impossible += y[r] < 0;
    if (error <= 0.01 * exact) continue;
    ++off;
    if (exact > 0) condition = std::max(condition, static_cast<double>(mean * mean) / exact);
    const double reach = 4 * c.unit() * mean_square * (2 + std::log2(static_cast<double>(row.size())));
    noise += error <= reach;
  }
  if (impossible > 0) {
    j.v = verdict::beyond;
    j.evidence.emplace_back("impossible", static_cast<double>(impossible));
  }
  if (j.v != verdict::beyond || off == 0) return;
  // All that is wrong is as large as the rounding of the squares, and they are far larger than the variance.
  if ((noise == off && condition > 100) || impossible > 0) {
    j.cause_hint = "cancellation";
    j.reason =
        impossible > 0 ? "a variance below zero" : "the rounding of the mean square is all that is left";
    j.evidence.emplace_back("condition", condition);
  }
}

}  // namespace

namespace {

// Other means that programs form of the same elements.
void offer_means(const call& c, expectation& e) {
  if (c.reads(2)) {
    e.hypotheses.push_back({"wrong-weighting", "every element counts alike", [&c](const expectation& honest) {
                              const rows_of x(c);
                              std::vector<double> means;
                              for (std::size_t r = 0; r < honest.exact.size(); ++r) {
                                means.push_back(std::accumulate(x[r].begin(), x[r].end(), 0.0) /
                                                static_cast<double>(x[r].size()));
                              }
                              return means;
                            }});
  }
  if (!hides(c.op().reads[0])) return;
  e.hypotheses.push_back({"wrong-divisor", "the sum was divided by the length with its padding",
                          [&c](const expectation& honest) {
                            const rows_of x(c);
                            std::vector<double> means = honest.exact;
                            for (std::size_t r = 0; r < means.size(); ++r)
                              means[r] *= static_cast<double>(x[r].size()) / static_cast<double>(x.whole());
                            return means;
                          }});
  if (e.exact.size() != 1 || c.read(0).shape.size() < 2) return;
  e.hypotheses.push_back({"wrong-weighting", "the mean of the rows' means", [&c](const expectation&) {
                            const tensor& x = c.read(0);
                            const std::size_t width = last_of(x.shape);
                            const std::vector<std::uint8_t> hidden = hidden_by_code(c.op().reads[0]);
                            double means = 0, counted = 0;
                            for (std::size_t first = 0; first < x.values.size(); first += width) {
                              double sum = 0, count = 0;
                              for (std::size_t i = first; i < first + width; ++i) {
                                if (hidden[i] != 0) continue;
                                sum += x.values[i];
                                ++count;
                              }
                              if (count == 0) continue;
                              means += sum / count;
                              ++counted;
                            }
                            return std::vector<double>(1, means / counted);
                          }});
}

}  // namespace

expectations mean(const call& c) {
  const tensor* weights = c.reads(2) ? &c.read(1) : nullptr;
  if (weights != nullptr) {
    const std::size_t all = c.read(0).values.size(), given = weights->values.size();
    require(!hides(c.op().reads[0]), "a weighted mean of hidden elements");
    require(given == all || given * c.write(0).values.size() == all, "a weight for each element of a row");
  }
  double divisor = 0;
  bool one_divisor = true;
  expectations result = rows(c, [&](expectation& e, std::size_t r, const double* x, std::size_t n) {
    chain<long double> s(c.sum(), static_cast<std::int64_t>(n));
    long double total_weight = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const long double v = static_cast<long double>(x[i]);
      if (weights == nullptr) {
        s.add(v);
        continue;
      }
      const auto w = static_cast<long double>(weights->values[(r * n + i) % weights->values.size()]);
      total_weight += w;
      s.add(w * v);
    }
    s.finish();
    const auto count = weights == nullptr ? static_cast<double>(n) : static_cast<double>(total_weight);
    require(count > 0, "weights that add up to nothing");
    one_divisor = one_divisor && (divisor == 0 || count == divisor);
    divisor = count;
    const long double v = c.step(1, s.value()) / static_cast<long double>(count);
    // Some divide the sum, some multiply it by the rounded 1/n. Weighted, every product is rounded, or every
    // weight over their sum.
    const double roundings = weights == nullptr ? 2 : 6;
    e.set(r, v, s.variance() / squared(count) + roundings * squared(c.rho() * static_cast<double>(v)));
    if (s.bound() > 0) e.allow(r, s.bound() / count);
    if (s.overflowed()) e.mark(r, defect::accumulator_overflow);
  });
  offer_means(c, result[0]);
  if (one_divisor && divisor > 0) {
    result[0].know_factor("the division by the count", 1 / divisor);
    result[0].divisor = divisor;
  }
  return result;
}

expectations variance(const call& c) {
  const double correction = c.scalar("correction", 0);
  expectations result = rows(c, [&](expectation& e, std::size_t r, const double* x, std::size_t n) {
    const double count = static_cast<double>(n);
    require(count > correction, "a variance of too few elements");
    long double total = 0;
    for (std::size_t i = 0; i < n; ++i) total += static_cast<long double>(x[i]);
    const long double center = c.step(1, total / static_cast<long double>(n));
    chain<long double> s(c.sum(), static_cast<std::int64_t>(n));
    for (std::size_t i = 0; i < n; ++i) {
      const long double d = static_cast<long double>(x[i]) - center;
      s.add(c.step(2, d * d));
    }
    s.finish();
    const double divisor = count - correction;
    const long double v = s.value() / static_cast<long double>(divisor);
    // An error of the mean adds its square; the deviations carry a rounding each.
    const double shift = 4 * c.unit() * std::fabs(static_cast<double>(center));
    e.set(r, v,
          s.variance() / squared(divisor) + 6 * squared(c.rho() * static_cast<double>(v)) +
              4 * static_cast<double>(v) * squared(shift) / count);
    e.allow(r, squared(shift) + s.bound() / divisor);
    if (s.overflowed()) e.mark(r, defect::inner_overflow);
  });
  if (!hides(c.op().reads[0])) {
    result[0].divisor = static_cast<double>(rows_of(c).whole()) - correction;
    result[0].know_factor("the division by the count", 1 / result[0].divisor);
  }
  result[0].review = [&c](const expectation&, judgement& j) { review_variance(c, j); };
  return result;
}

expectations maximum(const call& c) {
  return rows(c, [&](expectation& e, std::size_t r, const double* x, std::size_t n) {
    double top = -HUGE_VAL;
    for (std::size_t i = 0; i < n; ++i)
      top = std::isnan(x[i]) || std::isnan(top) ? std::numeric_limits<double>::quiet_NaN()
                                                : std::max(top, x[i]);
    e.set(r, top, 0);
  });
}

// How many elements equal the row's maximum: at least one.
expectations maximum_count(const call& c) {
  const tensor& top = c.read(1);
  require(top.values.size() == c.write(0).values.size(), "one maximum for each row");
  expectations result = rows(c, [&](expectation& e, std::size_t r, const double* row, std::size_t n) {
    e.set(r, static_cast<double>(std::count(row, row + n, top.values[r])), 0);
  });
  result[0].copies = true;
  result[0].review = [&c](const expectation&, judgement& j) {
    const rows_of x(c);
    const tensor& tops = c.read(1);
    std::int64_t none = 0, rounded = 0;
    for (std::size_t r = 0; r < tops.values.size(); ++r) {
      if (c.write(0).values[r] != 0 || std::isnan(tops.values[r])) continue;
      ++none;
      const double own = x[r].empty() ? tops.values[r] : *std::ranges::max_element(x[r]);
      rounded += own != tops.values[r] && grid_of(tops.type).round(own) == tops.values[r];
    }
    if (none == 0) return;
    j.v = verdict::beyond;
    j.evidence.emplace_back("impossible", static_cast<double>(none));
    j.reason = "no element equals the maximum";
    if (rounded != none) return;
    j.cause_hint = "rounding-order";
    j.reason = "the elements and their maximum were rounded differently";
  };
  return result;
}

}  // namespace numdiff::analysis::expect
