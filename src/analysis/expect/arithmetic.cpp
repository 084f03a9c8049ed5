// Single steps that programs write out: divide, square, power, exponential, reciprocal_square_root.
#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/expect/broadcast.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

double squared(double x) {
  return x * x;
}

template <class F>
expectations each(const call& c, F&& f) {
  const std::size_t n = c.write(0).values.size();
  expectations e(1);
  e[0].resize(n, c.wide());
  for (std::size_t i = 0; i < n; ++i) f(e[0], i);
  return e;
}

const tensor& same_size(const call& c) {
  const tensor& x = c.read(0);
  require(x.values.size() == c.write(0).values.size(), "operands of different size");
  return x;
}

// One operation whose result is rounded to the inner format before the output's.
double inner_rounding(const call& c, long double exact) {
  const auto v = static_cast<double>(exact);
  if (!c.rounds_twice(0) || !std::isfinite(v) || c.sum().numbers.holds(v)) return 0;
  return squared(c.sum().numbers.ulp(v)) / (c.sum().truncates ? 3 : 12);
}

}  // namespace

namespace {

// A divisor shared by groups of elements that is the largest of each group times one constant is a scale; of
// a group of zeros it is zero.
void review_scale(const call& c, judgement& j) {
  if (!j.cause_hint.empty()) return;
  const tensor &y = c.read(1), &out = c.write(0);
  const broadcast x(c.read(0), out.shape), divisor(y, out.shape);
  const std::size_t n = y.values.size();
  if (n == 0 || n >= out.values.size()) return;
  // Elements of one group meet the same element of the divisor.
  tensor numbers = y;
  for (std::size_t g = 0; g < n; ++g) numbers.values[g] = static_cast<double>(g);
  const broadcast group(numbers, out.shape);
  std::vector<double> amax(n, 0);
  std::int64_t created = 0, unscaled = 0;
  for (std::size_t i = 0; i < out.values.size(); ++i) {
    if (!std::isfinite(x[i]) || !std::isfinite(divisor[i])) return;
    double& top = amax[static_cast<std::size_t>(group[i])];
    top = std::max(top, std::fabs(x[i]));
    if (std::isfinite(out.values[i])) continue;
    ++created;
    unscaled += divisor[i] == 0 && x[i] == 0;
  }
  if (created == 0 || unscaled < created) return;
  double least = HUGE_VAL, most = 0;
  for (std::size_t g = 0; g < n; ++g) {
    if (amax[g] == 0 || y.values[g] == 0) continue;
    least = std::min(least, std::fabs(y.values[g]) / amax[g]);
    most = std::max(most, std::fabs(y.values[g]) / amax[g]);
  }
  const role given =
      c.op().reads[1].row != nullptr ? static_cast<role>(c.op().reads[1].row->role) : role::none;
  if (given != role::scale && (most == 0 || most > least * (1 + 4 * grid_of(y.type).unit()))) return;
  j.v = verdict::beyond;
  j.cause_hint = "zero-scale";
  j.reason = "a group of zeros has a scale of zero";
  j.evidence.emplace_back("scales_zero", static_cast<double>(std::ranges::count(y.values, 0.0)));
}

}  // namespace

expectations divide(const call& c) {
  const broadcast x(c.read(0), c.write(0).shape), y(c.read(1), c.write(0).shape);
  expectations quotients = each(c, [&](expectation& e, std::size_t i) {
    const long double reciprocal = 1 / static_cast<long double>(y[i]);
    const long double rounded = c.step(1, reciprocal), dividend = static_cast<long double>(x[i]);
    const long double v =
        rounded == reciprocal ? dividend / static_cast<long double>(y[i]) : dividend * rounded;
    // A product with the rounded reciprocal is honest too.
    e.set(i, v, inner_rounding(c, v) + squared(c.rho() * static_cast<double>(v)));
  });
  if (c.read(1).values.size() == 1 && c.read(1).values[0] != 0) {
    const double divisor = c.read(1).values[0];
    quotients[0].know_factor("the division", 1 / divisor);
    if (divisor >= 2 && divisor == std::floor(divisor)) quotients[0].divisor = divisor;
  }
  quotients[0].review = [&c](const expectation&, judgement& j) { review_scale(c, j); };
  return quotients;
}

expectations square(const call& c) {
  const tensor& x = same_size(c);
  return each(c, [&](expectation& e, std::size_t i) {
    const long double v = static_cast<long double>(x.values[i]) * static_cast<long double>(x.values[i]);
    e.set(i, v, inner_rounding(c, v));
  });
}

// Powers go by way of a logarithm, whose error the exponent's product turns into a relative one.
expectations power(const call& c) {
  const tensor& x = same_size(c);
  const long double exponent = static_cast<long double>(c.scalar("exponent"));
  return each(c, [&](expectation& e, std::size_t i) {
    const long double v = std::pow(static_cast<long double>(x.values[i]), exponent);
    const double bits =
        x.values[i] != 0 ? std::fabs(static_cast<double>(exponent)) * std::log(std::fabs(x.values[i])) : 0;
    e.set(i, v, squared(c.rho() * static_cast<double>(v)) * (4 + squared(bits)));
    e.allow(i, c.tiny());
  });
}

expectations exponential(const call& c) {
  const tensor& x = same_size(c);
  return each(c, [&](expectation& e, std::size_t i) {
    const long double v = std::exp(static_cast<long double>(x.values[i]));
    e.set(i, v, squared(c.rho() * static_cast<double>(v)) * (2 + squared(x.values[i])));
    e.allow(i, c.tiny());
  });
}

expectations reciprocal_square_root(const call& c) {
  const tensor& x = same_size(c);
  const long double eps = static_cast<long double>(c.scalar("eps", 0));
  return each(c, [&](expectation& e, std::size_t i) {
    const long double v = 1 / c.step(1, std::sqrt(static_cast<long double>(x.values[i]) + eps));
    e.set(i, v, 3 * squared(c.rho() * static_cast<double>(v)));
  });
}

}  // namespace numdiff::analysis::expect
