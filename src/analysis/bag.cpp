#include "analysis/bag.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/measure.hpp"
#include "analysis/placement.hpp"
#include "analysis/values.hpp"

namespace numdiff::analysis {

bool same_bag(const merged_capture& a, const merged_capture& b) noexcept {
  return a.type == b.type && a.count == b.count && a.digest != b.digest && a.zero == b.zero &&
         a.amax == b.amax && a.subnormal == b.subnormal && a.nonfinite() == b.nonfinite() && a.sum_sq > 0 &&
         std::abs(a.sum_sq - b.sum_sq) <= 1e-12 * a.sum_sq && std::abs(a.sum - b.sum) <= 1e-12 * a.sum_abs &&
         std::abs(a.sum_abs - b.sum_abs) <= 1e-12 * a.sum_abs;
}

namespace {

// By sums and extremes: other numbers of the same distribution have none of them in common, unless few bits
// are left to tell.
bool like_bag(const merged_capture& a, const merged_capture& b, double unit) noexcept {
  const auto near = [unit](double x, double y, double scale) { return std::abs(x - y) <= unit * scale; };
  return unit <= 0x1p-8 && a.sum_sq > 0 && near(a.amax, b.amax, a.amax) &&
         near(a.sum_sq, b.sum_sq, a.sum_sq) && near(a.sum_abs, b.sum_abs, a.sum_abs) &&
         near(a.sum, b.sum, a.sum_abs);
}

}  // namespace

bool same_bag_rounded(const run_index& of_a, const merged_capture& a, const run_index& of_b,
                      const merged_capture& b) {
  constexpr std::int64_t most = std::int64_t{1} << 22;
  const double unit = std::max(unit_roundoff(a.type), unit_roundoff(b.type));
  if (a.count != b.count || a.count < 4 || a.count > most || !(unit < 1)) return false;
  if (a.nonfinite() + b.nonfinite() + a.hidden + b.hidden > 0) return false;
  placement_cache places_a, places_b;
  value_reader x(of_a, a, places_a), y(of_b, b, places_b);
  if (x.scaled() || y.scaled()) return false;
  if (!x.readable() || !y.readable()) return like_bag(a, b, unit);
  if (x.size() != y.size()) return false;
  std::vector<double> left(static_cast<std::size_t>(x.size())), right(left.size());
  x.read<double>(0, left);
  y.read<double>(0, right);
  std::ranges::sort(left);
  std::ranges::sort(right);
  if (left.front() == left.back()) return false;
  double off = 0, size = 0;
  for (std::size_t i = 0; i < left.size(); ++i) {
    off = std::max(off, std::abs(left[i] - right[i]) - 2 * unit * std::abs(left[i]));
    size = std::max(size, std::abs(left[i]));
  }
  // What falls among subnormal numbers is off by their spacing.
  return off <= 1e-3 * unit * size;
}

}  // namespace numdiff::analysis
