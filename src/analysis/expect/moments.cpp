// Statistics over some dimensions, usually the last, or over everything: mean, variance, maximum,
// maximum_count.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/rows_of.hpp"
#include "analysis/expect/stagnation.hpp"

namespace numdiff::analysis::expect {
namespace {

std::vector<reduction_axes> choices(const call& c) {
  std::vector<reduction_axes> all = reductions(c.read(0).shape, c.write(0).shape, usual_axes::trailing);
  std::erase_if(all, [](const reduction_axes& axes) { return axes.kept.empty() || axes.reduced.empty(); });
  return all;
}

// f(expectation, row, elements, their number) for every row that sees something, then
// also(expectation, axes).
template <class F, class G>
expectations rows(const call& c, F&& f, G&& also) {
  expectations e;
  e.push_back(nearest_of(choices(c), c.write(0), [&](const reduction_axes& axes) {
    const rows_of x(c, axes);
    expectation one;
    one.resize(x.size(), c.wide());
    bool empty = false;
    for (std::size_t r = 0; r < x.size(); ++r) empty = empty || x[r].empty();
    for (std::size_t r = 0; r < x.size(); ++r) {
      if (x[r].empty()) continue;  // nothing is seen: any convention
      if (empty) one.judged.push_back(static_cast<std::int64_t>(r));
      f(one, axes, r, x[r]);
    }
    require(!empty || !one.judged.empty(), "every row is hidden");
    also(one, axes);
    return one;
  }));
  return e;
}

double squared(double x) {
  return x * x;
}

constexpr double coherent = 1e4;  // mean^2 over the variance

// What the rounding of n mean squares leaves of a variance that is formed as their difference.
void review_variance(const call& c, const reduction_axes& axes, const expectation& honest, judgement& j) {
  const rows_of x(c, axes);
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
    // A small error is of the squares only where no other fault explains it.
    const double step = grid_of(c.write(0).type).ulp(y[r]);
    const double allowed =
        step + 8 * std::sqrt(honest.variance[r]) + (honest.bound.empty() ? 0 : honest.bound[r]);
    if (error <= (j.cause_hint.empty() ? allowed : 0.01 * exact)) continue;
    ++off;
    if (exact > 0) condition = std::max(condition, static_cast<double>(mean * mean) / exact);
    // Squares of numbers far from zero are alike, so that the errors of adding them in order are, too.
    const double order = std::max(4 * (2 + std::log2(static_cast<double>(row.size()))),
                                  condition > coherent ? static_cast<double>(row.size()) : 0);
    const double reach = c.unit() * mean_square * order;
    noise += error <= reach;
  }
  if (impossible > 0) {
    j.v = verdict::beyond;
    j.evidence.emplace_back("impossible", static_cast<double>(impossible));
  }
  if (j.v != verdict::beyond || off == 0 || (!j.cause_hint.empty() && impossible == 0)) return;
  // All that is wrong is as large as the rounding of the squares, and they are far larger than the variance.
  if ((noise == off && condition > 100) || impossible > 0) {
    j.cause_hint = "cancellation";
    j.reason =
        impossible > 0 ? "a variance below zero" : "the rounding of the mean square is all that is left";
    j.evidence.emplace_back("condition", condition);
  }
}

// The mean of the means of the rows of a tensor whose elements count by `weight`.
template <class W>
std::vector<double> mean_of_rows(const tensor& x, W&& weight) {
  const std::size_t width = last_of(x.shape);
  double means = 0, counted = 0;
  for (std::size_t first = 0; first < x.values.size(); first += width) {
    double sum = 0, count = 0;
    for (std::size_t i = first; i < first + width; ++i) {
      const double w = weight(i);
      if (w == 0) continue;
      sum += w * x.values[i];
      count += w;
    }
    if (count == 0) continue;
    means += sum / count;
    ++counted;
  }
  return std::vector<double>(1, means / counted);
}

// Other means that programs form of the same elements.
void offer_means(const call& c, const reduction_axes& axes, expectation& e) {
  const bool of_rows = e.exact.size() == 1 && c.read(0).shape.size() >= 2;
  if (c.reads(2)) {
    e.hypotheses.push_back(
        {"wrong-weighting", "every element counts alike", [&c, axes](const expectation& honest) {
           const rows_of x(c, axes);
           std::vector<double> means;
           for (std::size_t r = 0; r < honest.exact.size(); ++r) {
             means.push_back(std::accumulate(x[r].begin(), x[r].end(), 0.0) /
                             static_cast<double>(x[r].size()));
           }
           return means;
         }});
    if (of_rows && c.read(1).values.size() == c.read(0).values.size()) {
      e.hypotheses.push_back({"wrong-weighting", "the mean of the rows' means", [&c](const expectation&) {
                                return mean_of_rows(c.read(0),
                                                    [&](std::size_t i) { return c.read(1).values[i]; });
                              }});
    }
  }
  if (!hides(c.op().reads[0])) return;
  e.hypotheses.push_back({"wrong-divisor", "the sum was divided by the length with its padding",
                          [&c, axes](const expectation& honest) {
                            const rows_of x(c, axes);
                            std::vector<double> means = honest.exact;
                            for (std::size_t r = 0; r < means.size(); ++r)
                              means[r] *= static_cast<double>(x[r].size()) / static_cast<double>(x.whole());
                            return means;
                          }});
  if (!of_rows) return;
  e.hypotheses.push_back({"wrong-weighting", "the mean of the rows' means", [&c](const expectation&) {
                            const std::vector<std::uint8_t> hidden = hidden_by_code(c.op().reads[0]);
                            return mean_of_rows(c.read(0),
                                                [&](std::size_t i) { return hidden[i] != 0 ? 0.0 : 1.0; });
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
  const auto row = [&](expectation& e, const reduction_axes& axes, std::size_t r, std::span<const double> x) {
    chain<long double> s(c.sum(), static_cast<std::int64_t>(x.size()));
    long double total_weight = 0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const long double v = static_cast<long double>(x[i]);
      if (weights == nullptr) {
        s.add(v);
        continue;
      }
      const bool each = weights->values.size() == c.read(0).values.size();
      const auto w = static_cast<long double>(weights->values[each ? axes.kept[r] + axes.reduced[i] : i]);
      total_weight += w;
      s.add(w * v);
    }
    s.finish();
    const auto count = weights == nullptr ? static_cast<double>(x.size()) : static_cast<double>(total_weight);
    if (count == 0) {  // nothing is seen: any convention
      e.set(r, std::numeric_limits<long double>::quiet_NaN(), 0);
      e.mark(r, defect::masked_row);
      one_divisor = false;
      return;
    }
    require(count > 0, "weights that add up to less than nothing");
    one_divisor = one_divisor && (divisor == 0 || count == divisor);
    divisor = count;
    const long double v = c.step(1, s.value()) / static_cast<long double>(count);
    // Some divide the sum, some multiply it by the rounded 1/n. Weighted, every product is rounded, or every
    // weight over their sum.
    const double roundings = weights == nullptr ? 2 : 6;
    e.set(r, v, s.variance() / squared(count) + roundings * squared(c.rho() * static_cast<double>(v)));
    if (s.bound() > 0) e.allow(r, s.bound() / count);
    if (s.overflowed()) e.mark(r, defect::accumulator_overflow);
  };
  return rows(c, row, [&](expectation& e, const reduction_axes& axes) {
    offer_means(c, axes, e);
    if (one_divisor && divisor > 0) {
      e.know_factor("the division by the count", 1 / divisor);
      e.divisor = divisor;
      if (weights == nullptr && e.judged.empty()) {
        e.review = [&c, axes, count = divisor](const expectation& honest, judgement& j) {
          review_stagnation(c, axes, count, honest, j);
        };
      }
    }
    divisor = 0;
    one_divisor = true;
  });
}

namespace {

// Exact, unless another way to add up is followed.
long double mean_of(const call& c, std::span<const double> x) {
  long double total = 0;
  if (c.sum().fault == nullptr) {
    for (const double v : x) total += static_cast<long double>(v);
  } else {
    chain<long double> s(c.sum(), static_cast<std::int64_t>(x.size()));
    for (const double v : x) s.add(static_cast<long double>(v));
    s.finish();
    total = s.value();
  }
  return total / static_cast<long double>(x.size());
}

}  // namespace

expectations variance(const call& c) {
  const double correction = c.scalar("correction", 0);
  const auto row = [&](expectation& e, const reduction_axes&, std::size_t r, std::span<const double> x) {
    const double count = static_cast<double>(x.size());
    require(count > correction, "a variance of too few elements");
    const long double center = c.step(1, mean_of(c, x));
    chain<long double> s(c.sum(), static_cast<std::int64_t>(x.size()));
    for (const double v : x) {
      const long double d = static_cast<long double>(v) - center;
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
  };
  return rows(c, row, [&](expectation& e, const reduction_axes& axes) {
    if (!hides(c.op().reads[0])) {
      e.divisor = static_cast<double>(axes.reduced.size()) - correction;
      e.know_factor("the division by the count", 1 / e.divisor);
    }
    e.review = [&c, axes](const expectation& honest, judgement& j) { review_variance(c, axes, honest, j); };
  });
}

expectations maximum(const call& c) {
  const auto row = [&](expectation& e, const reduction_axes&, std::size_t r, std::span<const double> x) {
    double top = -HUGE_VAL;
    for (const double v : x)
      top = std::isnan(v) || std::isnan(top) ? std::numeric_limits<double>::quiet_NaN() : std::max(top, v);
    e.set(r, top, 0);
  };
  return rows(c, row, [](expectation&, const reduction_axes&) {});
}

// How many elements equal the row's maximum: at least one.
expectations maximum_count(const call& c) {
  const tensor& top = c.read(1);
  require(top.values.size() == c.write(0).values.size(), "one maximum for each row");
  const auto row = [&](expectation& e, const reduction_axes&, std::size_t r, std::span<const double> x) {
    e.set(r, static_cast<double>(std::ranges::count(x, top.values[r])), 0);
  };
  return rows(c, row, [&](expectation& e, const reduction_axes& axes) {
    e.copies = true;
    e.review = [&c, axes](const expectation&, judgement& j) {
      const rows_of x(c, axes);
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
  });
}

}  // namespace numdiff::analysis::expect
