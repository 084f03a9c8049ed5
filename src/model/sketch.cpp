#include "model/sketch.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace numdiff::model {

namespace {

// A power of two that brings the largest bucket near 1, so that squares neither overflow nor vanish.
int exponent_of(const sketch& x) noexcept {
  double largest = 0;
  for (double bucket : x) largest = std::max(largest, std::fabs(bucket));
  return largest > 0 && std::isfinite(largest) ? std::ilogb(largest) : 0;
}

sketch scaled(const sketch& x, int exponent) noexcept {
  sketch y;
  std::transform(x.begin(), x.end(), y.begin(), [&](double b) { return std::ldexp(b, -exponent); });
  return y;
}

double plain_dot(const sketch& x, const sketch& y) noexcept {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace

void add(sketch& total, const sketch& part) noexcept {
  for (std::size_t i = 0; i < total.size(); ++i) total[i] += part[i];
}

double norm(const sketch& x) noexcept {
  const int e = exponent_of(x);
  const sketch unit = scaled(x, e);
  return std::ldexp(std::sqrt(plain_dot(unit, unit)), e);
}

double distance(const sketch& x, const sketch& y) noexcept {
  sketch difference;
  std::transform(x.begin(), x.end(), y.begin(), difference.begin(), [](double a, double b) { return a - b; });
  return norm(difference);
}

double dot(const sketch& x, const sketch& y) noexcept {
  const int ex = exponent_of(x);
  const int ey = exponent_of(y);
  return std::ldexp(plain_dot(scaled(x, ex), scaled(y, ey)), ex + ey);
}

double cosine(const sketch& x, const sketch& y) noexcept {
  const sketch a = scaled(x, exponent_of(x));
  const sketch b = scaled(y, exponent_of(y));
  return std::clamp(plain_dot(a, b) / std::sqrt(plain_dot(a, a) * plain_dot(b, b)), -1.0, 1.0);
}

common_factor best_factor(const sketch& x, const sketch& y) noexcept {
  const int ex = exponent_of(x);
  const int ey = exponent_of(y);
  const sketch a = scaled(x, ex);
  const sketch b = scaled(y, ey);
  const double square = plain_dot(a, a);
  if (square == 0) {
    const double none = std::numeric_limits<double>::quiet_NaN();
    return {none, none};
  }
  const double f = plain_dot(a, b) / square;
  sketch rest;
  for (std::size_t i = 0; i < rest.size(); ++i) rest[i] = b[i] - f * a[i];
  return {std::ldexp(f, ey - ex), std::ldexp(norm(rest), ey)};
}

}  // namespace numdiff::model
