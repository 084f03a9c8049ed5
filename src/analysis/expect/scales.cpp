#include "analysis/expect/scales.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <unordered_map>
#include <vector>

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

// The first row of a range of rows far below the rest under one scale, which loses what the rest keeps;
// -1 when there is none. Rows that vary at random make no such step.
struct lost_rows {
  std::int64_t first = -1, count = 0;
  double share = 0, size = 0;  // of its nonzero values that vanished; its largest over that of all
};

lost_rows rows_under_one_scale(const tensor& x, const tensor& y) {
  lost_rows none;
  if (x.shape.size() < 2 || x.shape.back() == 0) return none;
  const auto width = static_cast<std::size_t>(x.shape.back());
  const std::size_t rows = x.values.size() / width;
  if (rows < 4 ||
      std::adjacent_find(y.scales.begin(), y.scales.end(), std::not_equal_to<>()) != y.scales.end())
    return none;
  std::vector<double> tops(rows, 0);
  std::vector<std::int64_t> nonzero(rows, 0), gone(rows, 0);
  double top = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    tops[i / width] = std::max(tops[i / width], std::fabs(x.values[i]));
    top = std::max(top, std::fabs(x.values[i]));
    nonzero[i / width] += x.values[i] != 0;
    gone[i / width] += x.values[i] != 0 && y.values[i] == 0;
  }
  lost_rows best;
  for (std::size_t r = 0; r < rows;) {
    const bool small = tops[r] > 0 && tops[r] < 0x1p-10 * top;
    if (!small) {
      ++r;
      continue;
    }
    lost_rows range{static_cast<std::int64_t>(r), 0, 0, 0};
    std::int64_t all = 0, lost = 0;
    for (; r < rows && tops[r] > 0 && tops[r] < 0x1p-10 * top; ++r) {
      ++range.count;
      all += nonzero[r];
      lost += gone[r];
      range.size = std::max(range.size, tops[r] / top);
    }
    range.share = static_cast<double>(lost) / static_cast<double>(std::max<std::int64_t>(1, all));
    if (range.count > best.count) best = range;
  }
  if (best.count * 8 < static_cast<std::int64_t>(rows) || best.share < 0.1) return none;
  // The rest stands clear of it, row by row.
  for (std::size_t r = 0; r < rows; ++r) {
    const auto at = static_cast<std::int64_t>(r);
    const bool inside = at >= best.first && at < best.first + best.count;
    if (!inside && tops[r] < 64 * best.size * top) return none;
  }
  return best;
}

}  // namespace

void review_scales(const tensor& source, const tensor& quantised, const expectation& honest, judgement& j) {
  if (quantised.scales.empty()) return;
  std::int64_t nonfinite = 0, unscaled = 0;
  for (std::size_t i = 0; i < quantised.values.size(); ++i) {
    if (std::isfinite(quantised.values[i]) || !std::isfinite(source.values[i])) continue;
    ++nonfinite;
    unscaled += quantised.scales[i] == 0;
  }
  if (nonfinite > 0 && unscaled == nonfinite) {
    j.cause_hint = "zero-scale";
    j.reason = "every one of them has a scale of zero";
    return;
  }
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
  if (const lost_rows lost = rows_under_one_scale(source, quantised); lost.first >= 0) {
    j.cause_hint = "scale-granularity";
    j.reason = "a range of rows far below the rest shares its scale";
    j.evidence.emplace_back("group_first_row", static_cast<double>(lost.first));
    j.evidence.emplace_back("group_rows", static_cast<double>(lost.count));
    j.evidence.emplace_back("group_flushed_share", lost.share);
    j.evidence.emplace_back("group_size_ratio", lost.size);
    return;
  }
  if (j.v == verdict::beyond && j.cause_hint.empty() && only_factors(source, quantised, all, numbers)) {
    j.cause_hint = "scale-mismatch";
    j.reason = "values are off by a factor for each scale";
  }
}

}  // namespace numdiff::analysis::expect
