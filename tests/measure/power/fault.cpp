#include "measure/power/fault.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>

namespace power {

cause cause_of(const std::string& name) {
  constexpr const char* names[] = {"none",   "noise", "relative",   "bias",    "element",
                                   "factor", "rows",  "accumulate", "dropped", "stale"};
  for (std::size_t i = 0; i < std::size(names); ++i)
    if (name == names[i]) return static_cast<cause>(i);
  std::fprintf(stderr, "power: no cause %s\n", name.c_str());
  std::exit(2);
}

double step_of(dtype type, double value) {
  const numdiff::format f = numdiff::format_of(type);
  if (value == 0) return f.min_subnormal();
  return std::max(std::ldexp(1.0, std::ilogb(value) - f.mantissa_bits), f.min_subnormal());
}

namespace {

double rms(const values& x) {
  double s = 0;
  for (const double v : x) s += v * v;
  return std::sqrt(s / static_cast<double>(x.size()));
}

}  // namespace

void fault::spoil(values& x, const values& steps, std::size_t width, std::mt19937_64& random) const {
  std::normal_distribution<double> normal;
  const auto at = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  switch (what) {
    case cause::noise: {
      const double each = size * expected / rms(steps);
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += each * steps[i] * normal(random);
      break;
    }
    case cause::relative: {
      const double each = size * rms(x);
      for (double& v : x) v += each * normal(random);
      break;
    }
    case cause::bias:
      for (std::size_t i = 0; i < x.size(); ++i) x[i] += std::copysign(size * steps[i], x[i]);
      break;
    case cause::element: {
      // Towards the value of another element, by a typical distance.
      const std::size_t i = at(x.size());
      std::size_t j = at(x.size());
      for (const double typical = rms(x); std::fabs(x[j] - x[i]) < 0.5 * typical;) j = at(x.size());
      x[i] += size * (x[j] - x[i]);
      break;
    }
    case cause::factor:
      for (double& v : x) v *= 1 + size;
      break;
    case cause::rows: {
      const std::size_t all = x.size() / width, some = std::max<std::size_t>(1, all / 8),
                        first = at(all - some + 1);
      for (std::size_t i = first * width; i < (first + some) * width; ++i) x[i] *= 1 + size;
      break;
    }
    case cause::accumulate:
    case cause::dropped:
    case cause::stale:
    case cause::none: break;
  }
}

}  // namespace power
