#include "analysis/measure.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "analysis/values.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// Distance between neighbouring values of a format around x.
double ulp_at(const format& f, double x) noexcept {
  if (!f.is_float()) return 1;
  if (x == 0) return f.min_subnormal();
  return std::max(std::ldexp(1.0, std::ilogb(x) - f.mantissa_bits), f.min_subnormal());
}

double quotient(double a, double b) noexcept {
  if (a == 0) return 0;
  return b == 0 ? std::numeric_limits<double>::infinity() : a / b;
}

constexpr std::int64_t window = 1 << 16;

// Numbers that fill masked places: the largest of each run's own format, where the formats differ. One means
// what the other means, however far apart they are.
struct fills {
  double reference = 0, test = 0;  // 0: none

  fills(const merged_capture& r, const merged_capture& t) {
    if (r.type == t.type || r.pending_factor != 1 || t.pending_factor != 1) return;
    const auto of = [](dtype type) {
      const format f = format_of(type);
      return f.is_float() && bytes_of(type) >= 2 ? f.max_finite() : 0;
    };
    reference = of(r.type);
    test = of(t.type);
  }
  [[nodiscard]] bool pair(double r, double t) const noexcept {
    return reference > 0 && test > 0 && std::abs(r) == reference && std::abs(t) == test &&
           std::signbit(r) == std::signbit(t);
  }
};

// Sums over all windows.
template <class T>
struct tally {
  measured result;
  long double rr = 0, tt = 0, rt = 0, dd = 0, sum = 0;  // squares of f64 leave the range of double
  double worst = 0, worst_relative = 0, worst_ulp = 0;
  double before = 0, distance = 0;  // of the reference's last two values
  std::int64_t seen = 0, steady = 0;

  // `scales` are those of the coarser side, empty: 1. The coarser format of a value depends on its size:
  // formats with few exponent bits have coarse subnormals.
  void add(std::int64_t first, std::span<const T> reference, std::span<const T> test, const format& unit,
           const format& other, std::span<const double> scales, const fills& masked) {
    distances& d = result.apart;
    for (std::size_t i = 0; i < reference.size(); ++i) {
      const T r = reference[i], t = test[i];
      if (!std::isfinite(r) || !std::isfinite(t)) {
        if (std::isnan(r) != std::isnan(t))
          ++d.nan_mismatch;
        else if (!std::isnan(r) && r != t)
          ++d.inf_mismatch;
        result.integral = result.integral && std::isfinite(r);
        continue;
      }
      ++d.compared;
      const auto x = static_cast<double>(r), y = static_cast<double>(t);
      if (masked.pair(x, y)) continue;
      const long double wide_r = r, wide_t = t, e = wide_t - wide_r;
      result.integral = result.integral && x == std::floor(x);
      result.largest = std::max(result.largest, std::abs(x));
      steady += seen > 1 && distance != 0 && x - before == distance;
      distance = x - before;
      before = x;
      ++seen;
      rr += wide_r * wide_r;
      tt += wide_t * wide_t;
      rt += wide_r * wide_t;
      if (r == t) continue;
      ++d.different;
      dd += e * e;
      sum += e;
      const auto a = static_cast<double>(std::abs(e));
      if (a > worst) {
        worst = a;
        d.worst_index = first + static_cast<std::int64_t>(i);
      }
      if (r == 0 || t == 0) ++d.against_zero;
      if (r != 0) worst_relative = std::max(worst_relative, a / std::abs(x));
      const double scale = scales.empty() ? 1 : scales[i], size = std::max(std::abs(x), std::abs(y));
      double step = scale * ulp_at(unit, size / scale);
      if (scales.empty()) step = std::max(step, other.is_float() ? ulp_at(other, size) : 0);
      if (step > 0) worst_ulp = std::max(worst_ulp, a / step);
    }
  }

  measured finish() {
    distances& d = result.apart;
    d.from_values = true;
    const double count = static_cast<double>(std::max<std::int64_t>(d.compared, 1));
    result.steady = 2 * steady >= seen - 2;
    const auto root = [](long double a, long double b) {
      return static_cast<double>(std::sqrt(a == 0 ? 0 : a / b));
    };
    d.relative_l2 = root(dd, rr);
    d.reference_l2 = root(rr, 1);
    d.worst_absolute = worst;
    d.worst_relative = worst_relative;
    d.worst_ulp = worst_ulp;
    d.bias = static_cast<double>(sum) / count;
    const long double mean = sum / count, variance = std::max<long double>(0, dd / count - mean * mean);
    d.bias_z = mean == 0 ? 0 : static_cast<double>(mean / std::sqrt(variance / count));
    d.cosine = dd == 0 ? 1 : (rr > 0 && tt > 0 ? static_cast<double>(rt / std::sqrt(rr) / std::sqrt(tt)) : 0);
    d.factor = rr > 0 ? static_cast<double>(rt / rr) : 1;
    d.factor_residual = rr > 0 ? root(std::max<long double>(0, tt - rt * (rt / rr)), rr) : 0;
    return result;
  }
};

template <class T>
measured measure_windows(value_reader& reference, value_reader& test, dtype unit, dtype finer,
                         bool reference_coarser, const fills& masked) {
  tally<T> sums;
  sums.result.integral = true;
  const format f = format_of(unit), other = format_of(finer);
  value_reader& coarser = reference_coarser ? reference : test;
  std::vector<T> r, t;
  std::vector<double> scales;
  for (std::int64_t first = 0; first < reference.size(); first += window) {
    r.resize(static_cast<std::size_t>(std::min(window, reference.size() - first)));
    t.resize(r.size());
    scales.resize(coarser.scaled() ? r.size() : 0);
    reference.read<T>(first, r, reference_coarser ? std::span(scales) : std::span<double>());
    test.read<T>(first, t, reference_coarser ? std::span<double>() : std::span(scales));
    sums.add(first, r, t, f, other, scales, masked);
  }
  return sums.finish();
}

}  // namespace

double unit_roundoff(dtype type) noexcept {
  if (is_integer(type)) return 0;
  const format f = format_of(type);
  if (!f.is_float() && type != dtype::mxint8) {
    if (type == dtype::c64) return std::ldexp(1.0, -24);
    if (type == dtype::c128) return std::ldexp(1.0, -53);
    return std::numeric_limits<double>::infinity();
  }
  return std::ldexp(1.0, -f.mantissa_bits - 1);
}

bool is_wide_integer(dtype type) noexcept {
  return type == dtype::i64 || type == dtype::u64;
}

std::optional<measured> measure_values(const run_index& reference, const merged_capture& reference_capture,
                                       placement_cache& reference_placements, const run_index& test,
                                       const merged_capture& test_capture, placement_cache& test_placements) {
  value_reader r(reference, reference_capture, reference_placements);
  if (!r.readable()) return std::nullopt;
  value_reader t(test, test_capture, test_placements);
  if (!t.readable() || r.size() != t.size()) return std::nullopt;
  const bool reference_coarser = unit_roundoff(reference_capture.type) > unit_roundoff(test_capture.type);
  const dtype unit = reference_coarser ? reference_capture.type : test_capture.type;
  const dtype finer = reference_coarser ? test_capture.type : reference_capture.type;
  const fills masked(reference_capture, test_capture);
  return is_wide_integer(reference_capture.type) || is_wide_integer(test_capture.type)
             ? measure_windows<long double>(r, t, unit, finer, reference_coarser, masked)
             : measure_windows<double>(r, t, unit, finer, reference_coarser, masked);
}

distances measure_sketches(const run_index& reference_run, const merged_capture& reference,
                           const run_index& test_run, const merged_capture& test) {
  distances d;
  if (!reference.has_sketch || !test.has_sketch) return d;
  d.from_sketch = true;
  d.contaminated = reference.excluded() != test.excluded();
  double rr = 0, tt = 0, rt = 0, dd = 0, largest = 0;
  const sketch left = sketch_of(reference_run, reference), right = sketch_of(test_run, test);
  // Squares of very small or large sums leave the range of double.
  for (std::size_t i = 0; i < left.size(); ++i)
    largest = std::max({largest, std::abs(left[i]), std::abs(right[i])});
  const double unit = largest > 0 && std::isfinite(largest) ? std::ldexp(1.0, std::ilogb(largest)) : 1;
  const double a = 1 / reference.pending_factor, b = 1 / test.pending_factor;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const double r = left[i] / unit * a, t = right[i] / unit * b;
    rr += r * r;
    tt += t * t;
    rt += r * t;
    dd += (t - r) * (t - r);
  }
  d.compared = std::min(reference.count - reference.excluded(), test.count - test.excluded());
  d.relative_l2 = std::sqrt(quotient(dd, rr));
  d.reference_l2 = std::sqrt(rr) * unit;
  d.cosine = rr > 0 && tt > 0 ? rt / std::sqrt(rr) / std::sqrt(tt) : (dd == 0 ? 1 : 0);
  d.factor = rr > 0 ? rt / rr : 1;
  d.factor_residual = rr > 0 ? std::sqrt(std::max(0.0, tt - rt * d.factor) / rr) : 0;
  return d;
}

}  // namespace numdiff::analysis
