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

// As sums in random order (n/6 of the squared addends and n/3 of the squared result, twice for two runs),
// where squared addends of a product may be four times what evenly spread ones are. Few bits err to one side,
// and long chains of squares absorb them.
double order_noise(std::string_view kind, const std::vector<read_distance>& reads, const inner_sums& how,
                   double norm, double count) noexcept {
  constexpr double rho = 0.4247, few_bits = 0x1p-20, most = 6.0 / 16;
  const bool sums = is(kind, {"sum", "mean"}) && reads.size() == 1,
             product = kind == "matmul" && reads.size() >= 2;
  const double counted = sums ? reads[0].count / std::max(count, 1.0) : 1, n = std::max(how.length, counted);
  // Each of its sums is rounded once; none exceeds the magnitudes that it adds.
  if (is(kind, {"add", "subtract"}) && norm > 0) {
    double sizes = 0, repeats = 1;
    for (const read_distance& r : reads) {
      sizes += r.norm;
      repeats = std::max(repeats, count / std::max(r.count, 1.0));
    }
    const double roundings =
        reads.size() <= 2 ? 1 : static_cast<double>(reads.size() - 1) * std::sqrt(repeats) * sizes / norm;
    return how.unit * roundings / 16 + how.partial;
  }
  double widest = how.unit * std::sqrt(std::max(n, 1.0));
  if (sums || product || is(kind, {"gelu", "rope"})) {
    std::vector<read_distance> rounded = reads;
    for (read_distance& one : rounded) one.relative_l2 = how.unit;
    const double bound = inherited_bound(kind, rounded, norm, count);
    if (std::isfinite(bound)) widest = std::max(widest, bound);
  }
  if (how.unit > few_bits || kind == "sum_of_squares" || !(norm > 0)) return widest + how.partial;
  double addends = 0;  // squared, over the squared result
  if (product) addends = 4 * std::pow(reads[0].norm * reads[1].norm / norm, 2) / n;
  if (sums) addends = std::pow(reads[0].norm / norm, 2) / (kind == "mean" ? n * n : 1);
  if (!sums && !product) return widest + how.partial;
  return std::min(widest, most * std::sqrt(2.0) * rho * how.unit * std::sqrt(n / 6 * addends + n / 3 + 4)) +
         how.partial;
}

}  // namespace numdiff::analysis
