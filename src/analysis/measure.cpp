#include "analysis/measure.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>

#include "analysis/expect/decode.hpp"
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

std::optional<std::vector<double>> global_values(const run_index& run, const merged_capture& capture,
                                                 placement_cache& placements) {
  if (capture.local || !capture.covered || capture.parts.empty()) return std::nullopt;
  std::int64_t total = is_complex(capture.type) ? 2 : 1;
  for (const std::int64_t extent : capture.shape) total *= extent;
  const bool alone = capture.parts.size() == 1 && !capture.partial;
  const double factor = capture.part_scale / capture.pending_factor;
  std::vector<double> values;
  if (!alone) values.assign(static_cast<std::size_t>(total), 0.0);
  for (const member& part : capture.parts) {
    const model::rank_data& rank = run.rank_of(part);
    const model::capture_row& row = run.capture_row_of(part);
    if (row.payload < 0) return std::nullopt;
    tensor t;
    try {
      t = decode(rank, row);
    } catch (const std::runtime_error&) {
      return std::nullopt;
    }
    if (t.values.size() != static_cast<std::size_t>(row.count)) return std::nullopt;
    if (alone && row.count == total) {
      values = std::move(t.values);
      break;
    }
    if (alone) return std::nullopt;
    std::vector<std::int64_t> ids;
    if (row.index_payload >= 0 && row.index_count > 0) {
      ids.resize(static_cast<std::size_t>(row.index_count));
      rank.payload->read(dtype::i64, row.index_payload, std::as_writable_bytes(std::span(ids)));
    }
    const auto index =
        global_indices(placements.of(rank.strings[row.placement]), rank.shapes.at(row.shape), ids);
    if (index.size() != t.values.size()) return std::nullopt;
    for (std::size_t i = 0; i < index.size(); ++i) {
      if (index[i] < 0) continue;
      if (index[i] >= total) return std::nullopt;
      values[static_cast<std::size_t>(index[i])] += t.values[i];
    }
  }
  if (factor != 1) {
    for (double& v : values) v *= factor;
  }
  return values;
}

distances measure_values(const std::vector<double>& reference, const std::vector<double>& test, dtype unit) {
  distances d;
  d.from_values = true;
  const format f = format_of(unit);
  double rr = 0, tt = 0, rt = 0, dd = 0, sum = 0;
  double worst = 0, worst_relative = 0, worst_ulp = 0;
  const std::size_t n = std::min(reference.size(), test.size());
  for (std::size_t i = 0; i < n; ++i) {
    const double r = reference[i], t = test[i];
    if (!std::isfinite(r) || !std::isfinite(t)) {
      if (std::isnan(r) != std::isnan(t))
        ++d.nan_mismatch;
      else if (!std::isnan(r) && r != t)
        ++d.inf_mismatch;
      continue;
    }
    ++d.compared;
    rr += r * r;
    tt += t * t;
    rt += r * t;
    if (r == t) continue;
    ++d.different;
    const double e = t - r;
    dd += e * e;
    sum += e;
    const double a = std::abs(e);
    if (a > worst) {
      worst = a;
      d.worst_index = static_cast<std::int64_t>(i);
    }
    if (r == 0 || t == 0) ++d.against_zero;
    if (r != 0) worst_relative = std::max(worst_relative, a / std::abs(r));
    worst_ulp = std::max(worst_ulp, a / ulp_at(f, std::max(std::abs(r), std::abs(t))));
  }
  const double count = static_cast<double>(std::max<std::int64_t>(d.compared, 1));
  d.relative_l2 = std::sqrt(quotient(dd, rr));
  d.worst_absolute = worst;
  d.worst_relative = worst_relative;
  d.worst_ulp = worst_ulp;
  d.bias = sum / count;
  const double variance = std::max(0.0, dd / count - d.bias * d.bias);
  d.bias_z = quotient(d.bias, std::sqrt(variance / count));
  d.cosine = dd == 0 ? 1 : (rr > 0 && tt > 0 ? rt / std::sqrt(rr) / std::sqrt(tt) : 0);
  d.factor = rr > 0 ? rt / rr : 1;
  d.factor_residual = rr > 0 ? std::sqrt(std::max(0.0, tt - rt * d.factor) / rr) : 0;
  return d;
}

distances measure_sketches(const merged_capture& reference, const merged_capture& test) {
  distances d;
  if (!reference.has_sketch || !test.has_sketch) return d;
  d.from_sketch = true;
  d.contaminated = reference.excluded() != test.excluded();
  const double a = 1 / reference.pending_factor, b = 1 / test.pending_factor;
  double rr = 0, tt = 0, rt = 0, dd = 0;
  for (std::size_t i = 0; i < reference.sketch.size(); ++i) {
    const double r = reference.sketch[i] * a, t = test.sketch[i] * b;
    rr += r * r;
    tt += t * t;
    rt += r * t;
    dd += (t - r) * (t - r);
  }
  d.compared = std::min(reference.count - reference.excluded(), test.count - test.excluded());
  d.relative_l2 = std::sqrt(quotient(dd, rr));
  d.cosine = rr > 0 && tt > 0 ? rt / std::sqrt(rr) / std::sqrt(tt) : (dd == 0 ? 1 : 0);
  d.factor = rr > 0 ? rt / rr : 1;
  d.factor_residual = rr > 0 ? std::sqrt(std::max(0.0, tt - rt * d.factor) / rr) : 0;
  return d;
}

}  // namespace numdiff::analysis
