#include "analysis/growth.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

namespace numdiff::analysis {

namespace {

// Scatter of the logarithm of an error that no fit may explain away: sketches estimate it to 4 %, and the
// batch of a step moves it by more.
constexpr double scatter = 0.08;
constexpr double beyond_expected = 2;
constexpr double strong_odds = 100, possible_odds = 20;
constexpr std::size_t shortest_part = 2;

enum class shape : std::uint8_t { level, walk, line, power, jump };

struct fit {
  analysis::shape shape = shape::level;
  std::size_t from = 0;  // first point behind the change, 0 none
  double score = 0;      // Schwarz's criterion: less is better
  double level = 0, rate = 0, last = 0;
};

// The series as logarithms over steps since the first.
struct series {
  std::vector<double> t, log_error;
  [[nodiscard]] std::size_t size() const { return t.size(); }
};

// Residuals of log_error against log(level * g(i)), where the level is the one that fits best.
struct scaled {
  double log_level = 0, squares = 0;
};

template <class Shape>
scaled against(const series& s, Shape log_g) {
  double mean = 0;
  for (std::size_t i = 0; i < s.size(); ++i) mean += s.log_error[i] - log_g(i);
  mean /= static_cast<double>(s.size());
  double squares = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double r = s.log_error[i] - log_g(i) - mean;
    squares += r * r;
  }
  return {mean, squares};
}

double score_of(const series& s, double squares, int parameters) {
  const auto n = static_cast<double>(s.size());
  // The scatter is one of the things that are not known: it is at least the one given.
  return n * std::log(std::max(squares / n, scatter * scatter)) + parameters * std::log(n);
}

// level * sqrt(1 + (ratio * t)^power), with t steps since the change and the ratio that fits best.
fit grows_by(const series& s, analysis::shape what, std::size_t from, int parameters) {
  const double begin = from == 0 ? s.t.front() : s.t[from - 1];
  const auto log_g = [&](double ratio) {
    return [&s, begin, ratio, what](std::size_t i) {
      const double t = std::max(0.0, s.t[i] - begin);
      const double added = what == shape::walk ? ratio * ratio * t : ratio * ratio * t * t;
      return 0.5 * std::log1p(added);
    };
  };
  const auto at = [&](double log_ratio) { return against(s, log_g(std::exp(log_ratio))).squares; };
  constexpr double low = -12, high = 24, coarse = 1.5;
  double best = low, least = std::numeric_limits<double>::infinity();
  for (double x = low; x <= high; x += coarse) {
    const double squares = at(x);
    if (squares < least) {
      least = squares;
      best = x;
    }
  }
  double left = best - coarse, right = best + coarse;
  for (int i = 0; i < 24; ++i) {
    const double a = left + (right - left) / 3, b = right - (right - left) / 3;
    (at(a) < at(b) ? right : left) = at(a) < at(b) ? b : a;
  }
  const double ratio = std::exp((left + right) / 2);
  const scaled found = against(s, log_g(ratio));
  fit f{what, from, score_of(s, found.squares, parameters), std::exp(found.log_level), 0, 0};
  f.rate = f.level * ratio;
  f.last = std::exp(found.log_level + log_g(ratio)(s.size() - 1));
  return f;
}

// level up to the change, then level * exp(b * t): a line in logarithms that is flat at first.
fit multiplies(const series& s, std::size_t from, int parameters) {
  const double begin = from == 0 ? s.t.front() : s.t[from - 1];
  const auto n = static_cast<double>(s.size());
  double sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto x_of = [&](std::size_t i) { return std::max(0.0, s.t[i] - begin); };
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double x = x_of(i), y = s.log_error[i];
    sx += x;
    sy += y;
    sxx += x * x;
    sxy += x * y;
  }
  const double spread = sxx - sx * sx / n;
  const double slope = spread > 0 ? std::max(0.0, (sxy - sx * sy / n) / spread) : 0;
  const double level = (sy - slope * sx) / n;
  double squares = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double r = s.log_error[i] - level - slope * x_of(i);
    squares += r * r;
  }
  return {shape::power,
          from,
          score_of(s, squares, parameters),
          std::exp(level),
          std::exp(slope),
          std::exp(level + slope * x_of(s.size() - 1))};
}

// One level before the change and another one behind it.
fit jumps(const series& s, std::size_t from) {
  const auto mean = [&](std::size_t first, std::size_t last) {
    double sum = 0;
    for (std::size_t i = first; i < last; ++i) sum += s.log_error[i];
    return sum / static_cast<double>(last - first);
  };
  const double before = mean(0, from), behind = mean(from, s.size());
  double squares = 0;
  for (std::size_t i = 0; i < s.size(); ++i) {
    const double r = s.log_error[i] - (i < from ? before : behind);
    squares += r * r;
  }
  return {shape::jump, from, score_of(s, squares, 3), std::exp(before), 0, std::exp(behind)};
}

// Adds the laws with a change at `from`.
void add_changes(const series& s, std::size_t from, std::vector<fit>& fits) {
  fits.push_back(jumps(s, from));
  fits.push_back(grows_by(s, shape::walk, from, 3));
  fits.push_back(grows_by(s, shape::line, from, 3));
  fits.push_back(multiplies(s, from, 3));
}

// Changes are tried at every point of a short series; of a long one at some, and then at all near the best.
std::vector<fit> all_fits(const series& s) {
  constexpr std::size_t tries = 48;
  const scaled flat = against(s, [](std::size_t) { return 0.0; });
  std::vector<fit> fits = {
      {shape::level, 0, score_of(s, flat.squares, 1), std::exp(flat.log_level), 0, std::exp(flat.log_level)},
      grows_by(s, shape::walk, 0, 2),
      grows_by(s, shape::line, 0, 2),
      multiplies(s, 0, 2)};
  const std::size_t end = s.size() - shortest_part + 1, stride = 1 + (end - shortest_part) / tries;
  for (std::size_t from = shortest_part; from < end; from += stride) add_changes(s, from, fits);
  if (stride == 1) return fits;
  std::vector<std::size_t> best;
  for (const analysis::shape what : {shape::jump, shape::walk, shape::line, shape::power}) {
    const fit* least = nullptr;
    for (const fit& f : fits)
      if (f.shape == what && f.from > 0 && (least == nullptr || f.score < least->score)) least = &f;
    best.push_back(least->from);
  }
  std::vector<bool> wanted(end, false);
  for (const std::size_t at : best)
    for (std::size_t from = std::max(shortest_part, at - std::min(at, stride - 1));
         from < std::min(end, at + stride); ++from)
      wanted[from] = (from - shortest_part) % stride != 0;
  for (std::size_t from = shortest_part; from < end; ++from)
    if (wanted[from]) add_changes(s, from, fits);
  return fits;
}

growth_law law_of(const fit& f) {
  switch (f.shape) {
    case shape::walk: return growth_law::root;
    case shape::line: return growth_law::linear;
    case shape::power: return growth_law::exponential;
    default: return growth_law::none;
  }
}

// What honest rounding does: every step adds an error like the one that the runs began with. A jump takes the
// steps between two points.
double expected_of(const fit& f, const series& s) {
  const double begin = f.from == 0 ? s.t.front() : s.t[f.from - 1];
  const double end = f.shape == shape::jump ? s.t[f.from] : s.t.back();
  return f.level * (1 + end - begin);
}

}  // namespace

growth fit_growth(std::span<const growth_point> points, double floor) {
  growth g;
  if (points.empty()) return g;
  series s;
  for (const growth_point& p : points) {
    s.t.push_back(static_cast<double>(p.step - points.front().step));
    s.log_error.push_back(std::log(std::max(p.error, floor)));
  }
  g.level = std::exp(s.log_error.front());
  g.last = g.expected = std::exp(s.log_error.back());
  if (points.size() < fewest_growth_points) return g;

  const std::vector<fit> fits = all_fits(s);
  const auto honest = [&](const fit& f) {
    return f.shape == shape::level || f.last <= beyond_expected * expected_of(f, s);
  };
  const fit* best = &fits.front();
  const fit* best_honest = &fits.front();
  for (const fit& f : fits) {
    if (f.score < best->score) best = &f;
    if (honest(f) && f.score < best_honest->score) best_honest = &f;
  }
  // Twice the difference of the log likelihoods.
  const bool grows = !honest(*best) && best_honest->score - best->score > 2 * std::log(strong_odds);
  const fit& chosen = grows ? *best : *best_honest;
  double all = 0, same = 0;
  for (const fit& f : fits) {
    const double weight = std::exp((best->score - f.score) / 2);
    all += weight;
    const bool agrees =
        grows ? !honest(f) && law_of(f) == law_of(chosen) && (f.from > 0) == (chosen.from > 0) : honest(f);
    if (agrees) same += weight;
  }
  g.law = grows ? law_of(chosen) : growth_law::none;
  g.confidence = same / all;
  g.changes = grows && chosen.from > 0;
  g.level = chosen.level;
  g.rate = g.law == growth_law::none ? 0 : chosen.rate;
  g.last = chosen.last;
  g.expected = expected_of(chosen, s);
  if (!g.changes) return g;
  g.change_at = g.earliest = g.latest = chosen.from;
  for (const fit& f : fits) {
    if (f.shape != chosen.shape || f.from == 0 || f.score - chosen.score > 2 * std::log(possible_odds))
      continue;
    g.earliest = std::min(g.earliest, f.from);
    g.latest = std::max(g.latest, f.from);
  }
  // No law fits exactly: the change is where the error is more than before, to the eye.
  const double visible = std::log(g.level) + 4 * scatter;
  while (g.change_at + 1 < s.size() && s.log_error[g.change_at] < visible) ++g.change_at;
  g.latest = std::max(g.latest, g.change_at);
  return g;
}

}  // namespace numdiff::analysis
