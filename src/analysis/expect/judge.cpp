#include "analysis/expect/judge.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/expect/accumulator.hpp"
#include "analysis/expect/explain.hpp"
#include "analysis/expect/hidden.hpp"

namespace numdiff::analysis::expect {
namespace {

// Running sums over the judged elements.
struct sums {
  double error_sq = 0, rounding_var = 0, rounding_sq = 0, internal_var = 0, bound_sq = 0, var_sq = 0;
  double against = 0;  // sum of error * sign(value)
  double yv = 0, vv = 0, yy = 0;
  std::int64_t count = 0, over = 0, unequal = 0;
  std::int64_t first_over = -1;
  double worst_excess = 0;
};

// A stored or replayed value that is not finite, or beyond the format. True when the element is done.
bool settle_range(const expectation& honest, const output_format& format, std::size_t i, double stored,
                  judgement& j, std::int64_t& inherited, std::int64_t& hidden, defect& why) {
  const double exact = honest.exact[i];
  const defect d = honest.defects.empty() ? defect::none : honest.defects[i];
  const double largest = format.numbers.maximum * std::fabs(format.scale(i));
  const bool fits =
      std::isfinite(exact) && std::fabs(format.rounded(exact, i, rounding::nearest_even)) <= largest;
  const double slack = honest.bound.empty() ? 0 : honest.bound[i];
  const double sigma = std::sqrt(honest.variance[i]);
  const bool may_overflow = std::isfinite(exact) && std::fabs(exact) + slack + 20 * sigma > largest;
  if (!std::isfinite(exact)) {
    if (d == defect::inherited || d == defect::none) {
      // A NaN stays one; an infinity may have become the maximum of a format without infinities.
      if (std::isnan(exact) ? std::isnan(stored)
                            : stored == exact || std::isnan(stored) || std::fabs(stored) >= largest) {
        ++inherited;
      } else {
        ++hidden;
      }
    } else {
      const bool guarded = d == defect::empty_merge && !std::isnan(stored);
      if (!guarded) why = d;
      if (std::isfinite(stored) || guarded)
        ++inherited;
      else
        ++j.nonfinite_replayed;
    }
    return true;
  }
  if (!std::isfinite(stored)) {
    if (fits && d == defect::none && !may_overflow) {
      ++j.nonfinite_created;
    } else {
      ++j.nonfinite_replayed;
      // A sum that left its accumulator did so before its result was rounded.
      if (d != defect::none && (fits || d == defect::accumulator_overflow)) why = d;
    }
    return true;
  }
  if (!fits && std::fabs(stored) >= largest * (1 - 1e-12) && std::signbit(stored) == std::signbit(exact)) {
    ++j.saturated;
    return true;
  }
  return false;
}

void take(const expectation& honest, const output_format& format, std::size_t i, double stored, double reach,
          double smallest_steps, judgement& j, sums& s) {
  const double exact = honest.exact[i];
  const double low = honest.low.empty() ? 0 : honest.low[i];
  const double error = (stored - exact) - low;
  const double size = std::fabs(error);
  // What the replay itself may be off by.
  const double own = std::fabs(exact) * (honest.low.empty() ? 0x1p-51 : 0x1p-61) + smallest_steps;
  const double internal = honest.variance[i];
  const double bound = (honest.bound.empty() ? 0 : honest.bound[i]) + own;
  const double spread =
      honest.copies ? 0 : reach * 0.5 * honest.internal_limit * std::sqrt(internal) + bound + honest.grain;
  const double half = honest.copies ? 0 : format.half_width(std::fabs(exact) + spread, i);
  const double rounding_var = honest.copies              ? 0
                              : !honest.rounding.empty() ? honest.rounding[i]
                                                         : format.variance(exact, i);
  const double var = rounding_var + internal;
  ++s.count;
  s.error_sq += error * error;
  s.rounding_var += rounding_var;
  s.internal_var += internal;
  if (!honest.copies && format.mode != rounding::stochastic) {
    const double rounded = format.rounded(exact, i, format.mode) - exact - low;
    s.rounding_sq += rounded * rounded;
  }
  s.bound_sq += bound * bound;
  s.var_sq += var * var;
  s.against += exact < 0 ? -error : error;
  s.yv += stored * exact;
  s.vv += exact * exact;
  s.yy += stored * stored;
  if (stored == 0 && exact != 0) ++j.flushed;
  if (size > 0) ++s.unequal;
  if (size > j.worst_absolute) {
    j.worst_absolute = size;
    if (s.over == 0) j.worst_index = static_cast<std::int64_t>(i);
  }
  const double ulp = format.ulp(exact, i);
  if (ulp > 0) j.worst_ulp = std::max(j.worst_ulp, size / ulp);
  const double allowed = half * (1 + 1e-9) + spread;
  if (size > allowed) {
    if (s.over++ == 0) s.first_over = static_cast<std::int64_t>(i);
    const double excess = allowed > 0 ? size / allowed : size / std::max(ulp, 1e-300);
    if (excess > s.worst_excess) {
      s.worst_excess = excess;
      j.worst_index = static_cast<std::int64_t>(i);
    }
  }
}

void conclude(const expectation& honest, const sums& s, judgement& j) {
  const double n = std::max<double>(1, static_cast<double>(s.count));
  // Few distinct values share few rounding errors, which may lie above their mean.
  const double rounding_var = std::max(s.rounding_var, s.rounding_sq);
  const double var = rounding_var + s.internal_var;
  j.observed = std::sqrt(s.error_sq / n);
  j.expected = std::sqrt(var / n);
  j.effective_count = s.var_sq > 0 ? var * var / s.var_sq : 0;
  const double t = limit_of(j.effective_count);
  const double l = std::max(t, honest.rms_limit);
  const double floor = std::sqrt(s.bound_sq / n);
  if (var > 0) {
    j.ratio = j.observed / j.expected;
    j.limit = std::sqrt((t * t * rounding_var + l * l * s.internal_var) / var) + floor / j.expected;
  } else {
    j.ratio = j.observed > floor ? HUGE_VAL : 0;
    j.limit = 1.3;
  }
  if (s.error_sq > 0) {
    j.bias = s.against / n / j.observed;
    j.bias_z = s.against / std::sqrt(s.error_sq);
  }
  if (s.vv > 0) {
    j.factor = s.yv / s.vv;
    const double rest = std::max(0.0, s.yy - j.factor * s.yv);
    j.factor_residual = j.expected > 0 ? std::sqrt(rest / n) / j.expected : 0;
  }
}

}  // namespace

double limit_of(double effective_count) noexcept {
  const double n = std::max(effective_count, 1.0);
  return std::max(1.3, std::exp(6 * std::sqrt(0.02 * 0.02 + 0.4 / n)));
}

double reach_of(std::size_t count) noexcept {
  return std::sqrt(2 * std::log(2 * static_cast<double>(std::max<std::size_t>(count, 1)) / 1e-9));
}

double output_format::variance(double value, std::size_t i) const noexcept {
  if (value == 0) return 0;
  const double s = std::fabs(scale(i));
  if (s == 0) return 0;
  const double inner = std::fabs(value / s);
  const double spacing = numbers.ulp(inner);
  const bool nearest = mode != rounding::toward_zero && mode != rounding::stochastic;
  if (inner < numbers.smallest() * (nearest ? 0.5 : 1.0) && mode != rounding::stochastic)
    return value * value;
  const double step = s * spacing;
  return step * step / (mode == rounding::toward_zero ? 3 : mode == rounding::stochastic ? 6 : 12);
}

double output_format::half_width(double value, std::size_t i) const noexcept {
  const double step = std::fabs(ulp(value, i));
  return mode == rounding::toward_zero || mode == rounding::stochastic ? step : step / 2;
}

output_format output_format_of(const op_instance& op, const operand& out) noexcept {
  output_format f;
  f.numbers = grid_of(out.value.type);
  f.integer = is_integer(out.value.type);
  if (op.row != nullptr && op.row->output_rounding != 0)
    f.mode = static_cast<rounding>(op.row->output_rounding);
  if (out.value.scales.size() == out.value.values.size() && !out.value.scales.empty()) {
    f.scales = out.value.scales.data();
  }
  return f;
}

judgement judge(const op_instance& op, std::size_t write, const expectation& honest) {
  judgement j;
  j.write = write;
  j.choice = honest.choice;
  const operand& out = op.writes[write];
  const output_format format = output_format_of(op, out);
  const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
  const double reach = reach_of(honest.exact.size());
  // Among subnormal numbers each product of the op is off by its own half step.
  double smallest_steps = 0;
  if (op.row != nullptr && !honest.copies) {
    const grid inner = accumulator_of(*op.row).numbers;
    if (inner.precision >= 24)
      smallest_steps = inner.smallest() * static_cast<double>(4 + std::max<std::int64_t>(op.row->k, 0));
  }
  sums s;
  std::int64_t inherited = 0, hidden = 0, first_out = -1;
  defect why = defect::none;
  const std::vector<std::uint8_t> hidden_here =
      hides(out) && !honest.judges_hidden ? zero_coded(out) : std::vector<std::uint8_t>();
  for (std::size_t k = 0; k < judged; ++k) {
    const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
    if (!hidden_here.empty() && hidden_here[i] != 0) continue;
    const double stored = out.value.values[i];
    const std::int64_t before = j.nonfinite_created + j.nonfinite_replayed + hidden;
    if (!settle_range(honest, format, i, stored, j, inherited, hidden, why)) {
      take(honest, format, i, stored, reach, smallest_steps, j, s);
    } else if (first_out < 0 && j.nonfinite_created + j.nonfinite_replayed + hidden > before) {
      first_out = static_cast<std::int64_t>(i);
    }
  }
  conclude(honest, s, j);
  if (first_out >= 0) j.worst_index = first_out;
  const bool size_over = j.ratio > j.limit && j.observed > 0;
  const bool probe_over =
      honest.probe_limit > 0 && (honest.probe_ratio > honest.probe_limit || honest.probe_row >= 0);
  const bool beyond = size_over || probe_over || s.over > 0 || j.nonfinite_created > 0 ||
                      j.nonfinite_replayed > 0 || hidden > 0;
  j.v = beyond ? verdict::beyond : verdict::within;
  j.finite_over = size_over || probe_over || s.over > 0;
  if (s.count == 0 && !beyond && judged > 0 && j.saturated == 0 && inherited == 0) j.v = verdict::undecided;
  j.evidence = {
      {"elements", static_cast<double>(judged)},
      {"elements_over", static_cast<double>(s.over)},
      {"elements_unequal", static_cast<double>(s.unequal)},
      {"worst_excess", s.worst_excess},
      {"output_rounding", std::sqrt(s.rounding_var / std::max<double>(1, static_cast<double>(s.count)))},
      {"internal", std::sqrt(s.internal_var / std::max<double>(1, static_cast<double>(s.count)))},
      {"one_sided_bound", std::sqrt(s.bound_sq / std::max<double>(1, static_cast<double>(s.count)))},
      {"nonfinite_inherited", static_cast<double>(inherited)},
      {"nonfinite_hidden", static_cast<double>(hidden)}};
  if (honest.probe_limit > 0) {
    j.evidence.emplace_back("probe_ratio", honest.probe_ratio);
    j.evidence.emplace_back("probe_limit", honest.probe_limit);
    if (honest.probe_row >= 0) j.evidence.emplace_back("probe_row", static_cast<double>(honest.probe_row));
  }
  if (beyond) {
    if (j.nonfinite_created > 0) {
      j.reason = "not finite although the result fits the output format";
    } else if (j.nonfinite_replayed > 0) {
      j.reason = "not finite, as its inputs and formats imply";
    } else if (hidden > 0) {
      j.reason = "finite although its inputs are not";
    } else if (size_over) {
      j.reason = "error above what its formats explain";
    } else if (probe_over) {
      j.reason = "rows that were only probed carry an error above what their formats explain";
    } else {
      j.reason = "single elements outside the bound of their rounding";
    }
    explain(op, honest, format, why, hidden, j);
  } else {
    j.reason = s.unequal == 0 ? "equal to the replay" : "as its formats explain";
    explain_loss(op, honest, j);
  }
  if (honest.review) honest.review(honest, j);
  return j;
}

}  // namespace numdiff::analysis::expect
