// Single steps that programs write out: divide, square, power, exponential, reciprocal_square_root.
#include <cmath>

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

expectations divide(const call& c) {
  const broadcast x(c.read(0), c.write(0).shape), y(c.read(1), c.write(0).shape);
  expectations quotient = each(c, [&](expectation& e, std::size_t i) {
    const long double reciprocal = 1 / static_cast<long double>(y[i]);
    const long double rounded = c.step(1, reciprocal), dividend = static_cast<long double>(x[i]);
    const long double v =
        rounded == reciprocal ? dividend / static_cast<long double>(y[i]) : dividend * rounded;
    // A product with the rounded reciprocal is honest too.
    e.set(i, v, inner_rounding(c, v) + squared(c.rho() * static_cast<double>(v)));
  });
  if (c.read(1).values.size() == 1 && c.read(1).values[0] != 0) {
    const double divisor = c.read(1).values[0];
    quotient[0].know_factor("the division", 1 / divisor);
    if (divisor >= 2 && divisor == std::floor(divisor)) quotient[0].divisor = divisor;
  }
  return quotient;
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
