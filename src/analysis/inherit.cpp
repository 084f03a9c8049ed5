#include "analysis/inherit.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>

namespace numdiff::analysis {

namespace {

constexpr double estimate = 1.5;  // distances from sketches are off by a few times 4 %
// Kinds that move a value by about as much as their input moves, seen up to 16 times.
constexpr std::string_view smooth[] = {"cast", "copy", "embedding", "gelu", "mask", "rope", "scale", "silu"};
constexpr double smooth_gain = 16;

bool is(std::string_view kind, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, kind) != names.end();
}

}  // namespace

double inherited_bound(std::string_view kind, const std::vector<read_distance>& reads, double norm,
                       double count) noexcept {
  constexpr double unbounded = std::numeric_limits<double>::infinity();
  double sum = 0, largest = 0;
  for (const read_distance& r : reads) {
    sum += r.relative_l2 * r.norm;
    largest = std::max(largest, r.relative_l2);
  }
  if (largest == 0) return 0;
  if (!(norm > 0)) return unbounded;
  // Triangle inequality.
  if (is(kind, {"add", "subtract"})) {
    double repeats = 1;
    for (const read_distance& r : reads) repeats = std::max(repeats, count / std::max(r.count, 1.0));
    return estimate * std::sqrt(repeats) * sum / norm;
  }
  // Cauchy and Schwarz: over the summed elements, and for products of matrices in the Frobenius norm.
  if (is(kind, {"sum", "mean"}) && reads.size() == 1)
    return estimate * std::sqrt(std::max(reads[0].count / std::max(count, 1.0), 1.0)) * sum / norm;
  if (kind == "matmul" && reads.size() >= 2) {
    const double product = reads[0].norm * reads[1].norm;
    double bound = product * (reads[0].relative_l2 + reads[1].relative_l2);
    for (std::size_t i = 2; i < reads.size(); ++i) bound += reads[i].relative_l2 * reads[i].norm;
    return estimate * bound / norm;
  }
  if (std::ranges::find(smooth, kind) != std::end(smooth)) return smooth_gain * largest;
  return unbounded;
}

}  // namespace numdiff::analysis
