#include "analysis/expect/scales.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include "analysis/expect/scale_map.hpp"

namespace numdiff::analysis::expect {
namespace {

// A spike that the next scale will follow stays below this multiple of the reach of a delayed scale.
constexpr double overshoot_limit = 4;
constexpr double negligible = 0x1p-20;  // of the squared norm
constexpr double idle_limit = 0x1p-4;   // octaves of range that no recipe leaves unused

// Elements that share a scale.
struct scale_group {
  double scale = 0, amax = 0, yv = 0, vv = 0, rest = 0, expected = 0;
};

// The group of every element: scales rounded to powers of two repeat, so that groups are told by their place,
// and by their scale's value only where the layout is not known.
std::vector<std::size_t> places(const operand& scaled, bool& finest) {
  std::vector<std::size_t> group(scaled.value.values.size());
  try {
    const scale_map map = scale_map_of(scaled.scaling, scaled.value.shape);
    finest = map.finest;
    for (std::size_t i = 0; i < group.size(); ++i) group[i] = map.at(i);
  } catch (const std::runtime_error&) {
    std::map<double, std::size_t> seen;
    for (std::size_t i = 0; i < group.size(); ++i)
      group[i] = seen.emplace(scaled.value.scales[i], seen.size()).first->second;
  }
  return group;
}

struct groups {
  std::vector<std::size_t> of;  // every element
  std::vector<scale_group> all;
  bool finest = false;  // blocks of the format itself, which cannot be smaller
};

// By the scales of the one of the two that has them.
groups groups_of(const tensor& x, const tensor& y, const operand& scaled) {
  groups g;
  g.of = places(scaled, g.finest);
  if (!g.of.empty()) g.all.resize(*std::max_element(g.of.begin(), g.of.end()) + 1);
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    if (!std::isfinite(x.values[i]) || !std::isfinite(y.values[i])) continue;
    scale_group& s = g.all[g.of[i]];
    s.scale = scaled.value.scales[i];
    s.amax = std::max(s.amax, std::fabs(x.values[i]));
    s.yv += y.values[i] * x.values[i];
    s.vv += x.values[i] * x.values[i];
  }
  return g;
}

// Every group is off by a factor of its own and by nothing else.
bool only_factors(const tensor& x, const tensor& y, groups& g) {
  const grid numbers = grid_of(y.type);
  bool apart = false;
  double rest = 0, expected = 0, elements = 0, fitted = 0;
  for (std::size_t i = 0; i < y.values.size(); ++i) {
    if (!std::isfinite(x.values[i]) || !std::isfinite(y.values[i]) || x.values[i] == 0) continue;
    const scale_group& s = g.all[g.of[i]];
    const double c = s.yv / s.vv, exact = c * x.values[i];
    apart = apart || std::fabs(c - 1) > 0.05;
    ++elements;
    rest += (y.values[i] - exact) * (y.values[i] - exact);
    // The grid that rounded it was finer or coarser by the factor.
    const double own = std::fabs(y.scales.empty() ? 1 : y.scales[i]);
    const double step = own * (own != 0 ? numbers.ulp(exact / own) : 0);
    expected += step * step / 12;
  }
  for (const scale_group& s : g.all) fitted += s.vv > 0;
  // The factor of a group takes one of its errors along; a group of one element fits any.
  if (elements < 2 * fitted) return false;
  return apart && rest <= 1.7 * expected * (1 - fitted / elements);
}

void try_factors(const tensor& x, const tensor& y, groups& g, judgement& j) {
  if (j.v != verdict::beyond || !j.cause_hint.empty() || !only_factors(x, y, g)) return;
  j.cause_hint = "scale-mismatch";
  j.reason = "values are off by a factor for each scale";
}

// The first of a range of lines far below the rest that shares its scales, and loses what the rest keeps; -1
// when there is none. Lines are rows, or columns. Lines that vary at random make no such step.
struct lost_lines {
  std::int64_t first = -1, count = 0;
  double share = 0, size = 0;  // of its nonzero values that vanished; its largest over that of all
  double error = 0;            // rms, over the rms of its values
};

// Element i belongs to line line_of(i). Sizes are those of codes: a line with scales of its own is not small.
template <class F>
lost_lines lines_under_shared_scales(const tensor& x, const tensor& y, std::size_t lines, F&& line_of) {
  lost_lines none;
  if (lines < 4) return none;
  std::vector<double> tops(lines, 0), squares(lines, 0), errors(lines, 0);
  std::vector<std::int64_t> nonzero(lines, 0), gone(lines, 0);
  double top = 0;
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double size = y.scales[i] != 0 ? std::fabs(x.values[i] / y.scales[i]) : 0;
    const std::size_t line = line_of(i);
    if (!std::isfinite(size)) continue;
    tops[line] = std::max(tops[line], size);
    top = std::max(top, size);
    nonzero[line] += x.values[i] != 0;
    gone[line] += x.values[i] != 0 && y.values[i] == 0;
    squares[line] += x.values[i] * x.values[i];
    errors[line] += (y.values[i] - x.values[i]) * (y.values[i] - x.values[i]);
  }
  lost_lines best;
  // Below this share of the largest; integers have no number below their step.
  const grid numbers = grid_of(y.type);
  const double little = std::max(0x1p-10, numbers.smallest() / numbers.maximum);
  for (std::size_t r = 0; r < lines;) {
    const auto small = [&] { return tops[r] > 0 && tops[r] < little * top; };
    if (!small()) {
      ++r;
      continue;
    }
    lost_lines range{static_cast<std::int64_t>(r), 0, 0, 0, 0};
    std::int64_t all = 0, lost = 0;
    double square = 0, error = 0;
    for (; r < lines && small(); ++r) {
      ++range.count;
      all += nonzero[r];
      lost += gone[r];
      square += squares[r];
      error += errors[r];
      range.size = std::max(range.size, tops[r] / top);
    }
    range.share = static_cast<double>(lost) / static_cast<double>(std::max<std::int64_t>(1, all));
    range.error = square > 0 ? std::sqrt(error / square) : 0;
    if (range.count > best.count) best = range;
  }
  // What vanished of it weighs no more than what rounding does to values in the format's normal range.
  if (best.error <= numbers.unit()) return none;
  if (best.count * 8 < static_cast<std::int64_t>(lines) || best.share < 0.1) return none;
  // The rest stands clear of it, line by line.
  for (std::size_t r = 0; r < lines; ++r) {
    const auto at = static_cast<std::int64_t>(r);
    const bool inside = at >= best.first && at < best.first + best.count;
    if (!inside && tops[r] < 64 * best.size * top) return none;
  }
  return best;
}

}  // namespace

void review_scales(const operand& from, const operand& to, const expectation& honest, judgement& j) {
  const tensor &source = from.value, &quantised = to.value;
  if (quantised.scales.empty()) {
    if (source.scales.empty()) return;
    groups read = groups_of(source, quantised, from);
    try_factors(source, quantised, read, j);
    return;
  }
  std::int64_t nonfinite = 0, unscaled = 0, unheld = 0;
  double unheld_sq = 0, all_sq = 0;
  for (std::size_t i = 0; i < quantised.values.size(); ++i) {
    const double x = source.values[i], scale = quantised.scales[i];
    if (!std::isfinite(x)) continue;
    all_sq += x * x;
    if (x != 0 && (scale == 0 || !std::isfinite(scale))) {
      ++unheld;
      unheld_sq += x * x;
    }
    if (std::isfinite(quantised.values[i])) continue;
    ++nonfinite;
    unscaled += scale == 0;
  }
  if (unheld > 0 && (nonfinite > 0 || unheld_sq > negligible * all_sq)) {
    j.v = verdict::beyond;
    j.cause_hint = "scale-out-of-range";
    j.reason = "the scale of values that are not zero is zero or not finite";
    j.evidence.emplace_back("scale_unheld", static_cast<double>(unheld));
    return;
  }
  if (nonfinite > 0 && unscaled == nonfinite) {
    j.cause_hint = "zero-scale";
    j.reason = "every one of them has a scale of zero";
    return;
  }
  if (j.cause_hint == "scale-direction" || j.cause_hint == "scale-index") return;
  const grid numbers = grid_of(quantised.type);
  groups written = groups_of(source, quantised, to);
  try_factors(source, quantised, written, j);
  if (j.cause_hint == "scale-mismatch") return;
  double most = 0, least = HUGE_VAL;
  bool ones = true;
  for (const scale_group& g : written.all) {
    if (g.amax == 0 || g.scale == 0) continue;
    const double use = g.amax / (std::fabs(g.scale) * numbers.maximum);
    most = std::max(most, use);
    least = std::min(least, use);
    ones = ones && g.scale == 1;
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
    if (overshoots && j.v == verdict::within) j.outgrown = most;
    j.v = verdict::beyond;
    j.cause_hint = ones ? "uncalibrated-scale" : "stale-scale";
    j.reason = overshoots ? "the scale reaches less than the values"
                          : "the scale leaves the range unused and values vanish";
    return;
  }
  const std::size_t width = source.shape.size() < 2 ? 0 : static_cast<std::size_t>(source.shape.back());
  for (const bool rows : {true, false}) {
    if (width == 0 || written.finest) break;
    const lost_lines lost =
        lines_under_shared_scales(source, quantised, rows ? source.values.size() / width : width,
                                  [&](std::size_t i) { return rows ? i / width : i % width; });
    if (lost.first < 0) continue;
    j.cause_hint = "scale-granularity";
    j.reason =
        std::string("a range of ") + (rows ? "rows" : "columns") + " far below the rest shares its scales";
    j.evidence.emplace_back(rows ? "group_first_row" : "group_first_column", static_cast<double>(lost.first));
    j.evidence.emplace_back(rows ? "group_rows" : "group_columns", static_cast<double>(lost.count));
    j.evidence.emplace_back("group_flushed_share", lost.share);
    j.evidence.emplace_back("group_size_ratio", lost.size);
    j.evidence.emplace_back("group_error", lost.error);
    return;
  }
}

}  // namespace numdiff::analysis::expect
