#include "analysis/expect/norm_faults.hpp"

#include <algorithm>
#include <cmath>
#include <string>

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

// Rows that are what is left when their squares are infinite: the bias, or zeros.
struct vanished_rows {
  std::int64_t count = 0;
  double share = 0;  // of the squared error of all rows
};

vanished_rows vanished(const call& c, const expectation& honest, bool centred, double maximum) {
  const tensor &x = c.read(0), &y = c.write(0);
  const grid numbers = grid_of(y.type);
  const norm_rows r(x);
  vanished_rows rows;
  double all = 0;
  for (std::size_t t = 0; t < r.count; ++t) {
    const std::size_t first = t * r.length;
    double mean = 0, squares = 0, error = 0, honest_error = 0;
    for (std::size_t i = 0; i < r.length && centred; ++i) mean += x.values[first + i];
    mean /= static_cast<double>(r.length);
    bool gone = true;
    for (std::size_t i = 0; i < r.length; ++i) {
      const std::size_t at = first + i;
      const double left = centred ? c.read(2).values[i] : 0;
      squares += square(x.values[at] - mean);
      gone = gone && std::fabs(y.values[at] - left) <= numbers.ulp(left);
      error += square(y.values[at] - honest.exact[at]);
      honest_error += square(left - honest.exact[at]);
    }
    if (std::isfinite(error)) all += error;
    if (!gone || honest_error == 0 || !(squares > maximum)) continue;
    ++rows.count;
    rows.share += error;
  }
  rows.share = all > 0 ? rows.share / all : 0;
  return rows;
}

}  // namespace

void review_overflow(const call& c, const expectation& honest, bool centred, judgement& j) {
  if (j.v != verdict::beyond) return;
  for (const dtype t : {dtype::f16, dtype::bf16, dtype::f32}) {
    const grid g = grid_of(t);
    if (g.precision > c.sum().numbers.precision) continue;
    const vanished_rows rows = vanished(c, honest, centred, g.maximum);
    if (rows.count == 0 || rows.share < 0.5) continue;
    j.cause_hint = "op-overflow";
    j.reason =
        std::string("the squares of a row leave the range of ") + name_of(t) + ", and the row vanishes";
    j.evidence.emplace_back("rows_vanished", static_cast<double>(rows.count));
    return;
  }
}

// Rows that are off by a factor each, and by no more than a variance whose mean square was rounded makes: the
// order of its sums is not known, its size is. Rows of NaN, where it may have come out below zero.
void review_variances(const call& c, const expectation& honest, judgement& j) {
  if (j.v != verdict::beyond || !j.cause_hint.empty()) return;
  const tensor &x = c.read(0), &y = c.write(0), &beta = c.read(2);
  const norm_rows r(x);
  const double eps = c.scalar("eps");
  std::int64_t off = 0, explained = 0, negative = 0;
  double condition = 0;
  for (std::size_t t = 0; t < r.count; ++t) {
    const std::size_t first = t * r.length;
    double sum = 0, squares = 0, yz = 0, zz = 0, yy = 0, expected = 0;
    std::size_t nan = 0;
    for (std::size_t i = 0; i < r.length; ++i) sum += x.values[first + i];
    const double n = static_cast<double>(r.length), mean = sum / n;
    for (std::size_t i = 0; i < r.length; ++i) {
      const double z = honest.exact[first + i] - beta.values[i], w = y.values[first + i] - beta.values[i];
      nan += std::isnan(w);
      squares += square(x.values[first + i] - mean);
      yz += w * z;
      zz += z * z;
      yy += w * w;
      expected += square(grid_of(y.type).ulp(y.values[first + i])) / 12 + honest.variance[first + i];
    }
    if (!std::isfinite(squares) || !std::isfinite(zz)) continue;
    const double variance = squares / n, factor = zz > 0 ? yz / zz : 1;
    if (nan == 0 && (!(factor > 0) || std::fabs(factor - 1) <= 1e-3)) continue;
    ++off;
    const double mean_square = variance + square(mean);
    const double reach = 4 * c.unit() * mean_square * (2 + std::log2(n));
    condition = std::max(condition, square(mean) / std::max(variance, 1e-300));
    if (nan > 0) {
      const bool below = nan == r.length && variance + eps <= reach;
      negative += below;
      explained += below;
      continue;
    }
    const double formed = (variance + eps) / square(factor) - eps;
    const bool alone = yy - factor * yz <= 4 * expected * std::max(1.0, square(factor));
    explained += alone && std::fabs(formed - variance) <= reach;
  }
  if (off == 0 || explained < off || condition <= 100) return;
  j.cause_hint = "cancellation";
  j.reason = negative > 0 ? "a variance that came out below zero has no root"
                          : "the rounding of the mean square is in the variance";
  if (negative > 0) j.evidence.emplace_back("negative_variances", static_cast<double>(negative));
  j.evidence.emplace_back("condition", condition);
  j.evidence.emplace_back("rows_off", static_cast<double>(off));
}

}  // namespace numdiff::analysis::expect
