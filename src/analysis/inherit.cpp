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

constexpr double rho = 0.4247;      // rms error of one rounding, in unit roundoffs
constexpr double uneven = 4;        // squared addends of products over those of evenly spread ones
constexpr double tightest = 0.85;   // of the bound for any order, what sorted and ramped sums keep to (tests)
constexpr double most_unlike = 64;  // addends whose errors are as good as independent in any data
constexpr double usual_cancelling = 2;  // squared addends over the squared result; 1 for random signs

// The rms of n running sums S_k of addends in random order is the root of this over n, in results:
// n/3 of the squared result and n/6 of the squared addends; four more roundings at the end.
double by_random_order(double n, double addends, double result) noexcept {
  return std::sqrt(n / 6 * addends + n / 3 * result * result + 4);
}

// In any order: |S_k|^2 <= k sum of the first k squares, and the same of S - S_k for the rest; where S = 0
// that is k (n - k) / n of all squares.
double by_any_order(double n, double addends, double result) noexcept {
  return std::sqrt((n * n / 6 + 1) * addends + n * result * result + 4);
}

// How far the rms of `count` errors, as a sketch shows it, gets from the one that is expected (numerics.md).
double spread_of_rms(double count) noexcept {
  constexpr double buckets = 256;
  return std::clamp(std::exp(6 * std::sqrt(0.02 * 0.02 + 0.4 / buckets + 0.4 / std::max(count, 1.0))), 1.3,
                    6.0);
}

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

inner_limits limits_of_rounding(std::string_view kind, const std::vector<read_distance>& reads,
                                const inner_sums& how, double norm, double count) noexcept {
  constexpr double few_bits = 0x1p-20, most_of_usual = 16;
  const bool sums = is(kind, {"sum", "mean"}) && reads.size() == 1,
             product = kind == "matmul" && reads.size() >= 2;
  const double stored = most_of_usual * how.partial;
  // Each sum but the last is rounded once; none exceeds the magnitudes that it adds.
  if (is(kind, {"add", "subtract"}) && norm > 0) {
    double sizes = 0, repeats = 1;
    for (const read_distance& r : reads) {
      sizes += r.norm;
      repeats = std::max(repeats, count / std::max(r.count, 1.0));
    }
    const double before = std::max<double>(static_cast<double>(reads.size()), 2) - 2,
                 most = how.unit() * before * std::sqrt(repeats) * sizes / norm;
    return {most / most_of_usual + how.partial, most + stored, false};
  }
  const double counted = sums ? reads[0].count / std::max(count, 1.0) : 1, n = std::max(how.length, counted);
  double widest = how.unit() * std::sqrt(std::max(n, 1.0));
  if (sums || product || is(kind, {"gelu", "rope"})) {
    std::vector<read_distance> rounded = reads;
    for (read_distance& one : rounded) one.relative_l2 = how.unit();
    const double bound = inherited_bound(kind, rounded, norm, count);
    if (std::isfinite(bound)) widest = std::max(widest, bound);
  }
  // The angle is position times frequency, each rounded once; of the fastest pair that is 2 u position.
  if (kind == "rope") {
    if (reads.size() < 2) widest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 1; i < reads.size(); ++i)
      widest += 2 * (how.reference_unit + how.test_unit) * reads[i].amax / most_of_usual;
  }
  // A mean that is subtracted leaves its error.
  if (is(kind, {"layer_norm", "layer_norm_gradient", "variance"})) {
    double amplified = 1;
    for (const read_distance& r : reads) amplified = std::max(amplified, r.over_deviation);
    widest *= amplified;
  }
  // One long chain of positive addends may err to one side.
  if (is(kind, {"sum_of_squares", "variance"})) {
    double all = n;
    if (kind == "sum_of_squares") {
      all = 0;
      for (const read_distance& r : reads) all += r.count;
    }
    widest = std::max(widest, how.unit() * all / most_of_usual);
  }
  // The error of the mean adds its square to a variance, which may be all that there is.
  if (kind == "variance" && !reads.empty() && norm > 0) {
    const double mean_square = reads[0].norm * reads[0].norm / std::max(reads[0].count, 1.0);
    widest += std::pow(how.unit() * n, 2) * mean_square * std::sqrt(count) / norm;
  }
  // Of confident rows little is left of 1: errors are those of the logits.
  if (kind == "cross_entropy" && !reads.empty() && norm > 0)
    widest += how.unit() * reads[0].amax * std::sqrt(count) / norm;
  if (kind == "cross_entropy_gradient" && !reads.empty())
    widest *= 1 + std::exp(2 * reads[0].amax) / std::max(n - 1, 1.0);
  inner_limits limits = {widest + how.partial, most_of_usual * widest + stored, false};
  // Few bits err to one side, and long chains of squares absorb them.
  if (how.unit() > few_bits || !(norm > 0) || (!sums && !product)) return limits;
  double addends = sums ? std::pow(reads[0].norm / norm, 2) / (kind == "mean" ? n * n : 1)
                        : std::pow(reads[0].norm * reads[1].norm / norm, 2) / n / std::max(how.batch, 1.0);
  double result = 1;  // what is summed, over what is written
  for (std::size_t i = 2; i < reads.size() && product; ++i) result += reads[i].norm / norm;
  const double units = std::hypot(how.reference_unit, how.test_unit), any = by_any_order(n, addends, result),
               random = by_random_order(n, addends, result);
  limits.usual = std::min(limits.usual, rho * units * random + how.partial);
  // Errors of numbers that follow each other smoothly repeat over stretches.
  const double stretches = sums ? std::sqrt(std::max(n / most_unlike, 1.0)) : 1;
  double most = rho * units * tightest * any * stretches * spread_of_rms(count);
  // Sums of a tensor may be sorted; products of two are not, and those that cancel no more than random signs
  // do were added in no order that makes them cancel.
  if (product) most = std::min(most, most_of_usual * widest);
  if (product && addends <= usual_cancelling)
    most = std::min(most, std::min(3.6 * spread_of_rms(count), 6 * std::sqrt(2.0)) * rho * units *
                              by_random_order(n, uneven * addends, result));
  // Every addition to the same side, of half the magnitudes on average.
  const bool coherent = sums ? reads[0].repeats : reads[0].repeats && reads[1].repeats;
  if (coherent) {
    most = std::max(most, (how.reference_unit + how.test_unit) * n / 2 * std::sqrt(n * addends) * result);
    limits.usual = std::min(widest + how.partial, most / most_of_usual + how.partial);
  }
  limits.most = most + stored;
  limits.independent = !coherent;
  return limits;
}

}  // namespace numdiff::analysis
