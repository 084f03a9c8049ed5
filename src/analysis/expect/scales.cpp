#include "analysis/expect/scales.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_map>

namespace numdiff::analysis::expect {
namespace {

// A spike that the next scale will follow stays below this multiple of the reach of a delayed scale.
constexpr double overshoot_limit = 4;
constexpr double idle_limit = 0x1p-4;  // octaves of range that no recipe leaves unused

// Elements that share a scale value.
struct scale_group {
  double amax = 0, yv = 0, vv = 0, rest = 0, expected = 0;
};

using groups = std::unordered_map<double, scale_group>;

groups groups_of(const tensor& x, const tensor& y) {
  groups all;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    if (!std::isfinite(x.values[i]) || !std::isfinite(y.values[i])) continue;
    scale_group& g = all[y.scales[i]];
    g.amax = std::max(g.amax, std::fabs(x.values[i]));
    g.yv += y.values[i] * x.values[i];
    g.vv += x.values[i] * x.values[i];
  }
  return all;
}

// Every group is off by a factor of its own and by nothing else.
bool only_factors(const tensor& x, const tensor& y, groups& all, const grid& g) {
  bool apart = false;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    if (!std::isfinite(x.values[i]) || !std::isfinite(y.values[i])) continue;
    scale_group& s = all[y.scales[i]];
    const double c = s.vv > 0 ? s.yv / s.vv : 1, exact = c * x.values[i];
    apart = apart || std::fabs(c - 1) > 0.05;
    s.rest += (y.values[i] - exact) * (y.values[i] - exact);
    // The grid that rounded it was finer or coarser by the factor.
    const double step = y.scales[i] * g.ulp(exact / y.scales[i]);
    s.expected += step * step / 12;
  }
  double rest = 0, expected = 0;
  for (const auto& [scale, s] : all) {
    rest += s.rest;
    expected += s.expected;
  }
  return apart && rest <= 1.7 * expected;
}

}  // namespace

void review_scales(const tensor& source, const tensor& quantised, const expectation& honest, judgement& j) {
  if (quantised.scales.empty()) return;
  const grid numbers = grid_of(quantised.type);
  groups all = groups_of(source, quantised);
  double most = 0, least = HUGE_VAL;
  bool ones = true;
  for (const auto& [scale, g] : all) {
    if (g.amax == 0 || scale == 0) continue;
    const double use = g.amax / (std::fabs(scale) * numbers.maximum);
    most = std::max(most, use);
    least = std::min(least, use);
    ones = ones && scale == 1;
  }
  if (most == 0) return;
  double clip_sq = 0;
  std::int64_t nonzero = 0;
  for (std::size_t i = 0; i < source.values.size(); ++i) {
    const double reach = std::fabs(quantised.scales[i]) * numbers.maximum, size = std::fabs(source.values[i]);
    if (std::isfinite(size) && size > reach) clip_sq += (size - reach) * (size - reach);
    nonzero += source.values[i] != 0;
  }
  const double clipped =
      std::sqrt(clip_sq / static_cast<double>(std::max<std::size_t>(1, honest.exact.size())));
  const double flushed = nonzero > 0 ? static_cast<double>(j.flushed) / static_cast<double>(nonzero) : 0;
  j.evidence.emplace_back("scale_use_most", most);
  j.evidence.emplace_back("scale_use_least", least);
  j.evidence.emplace_back("clipped_rms", clipped);
  const bool overshoots =
      most > overshoot_limit || (most > 1.2 && clipped > 6 * j.expected && j.saturated > 1);
  const bool idles = most < idle_limit && flushed > 0.5;
  if (overshoots || idles) {
    j.v = verdict::beyond;
    j.cause_hint = ones ? "uncalibrated-scale" : "stale-scale";
    j.reason = overshoots ? "the scale reaches less than the values"
                          : "the scale leaves the range unused and values vanish";
    return;
  }
  if (j.v == verdict::beyond && j.cause_hint.empty() && only_factors(source, quantised, all, numbers)) {
    j.cause_hint = "scale-mismatch";
    j.reason = "values are off by a factor for each scale";
  }
}

}  // namespace numdiff::analysis::expect
