#include "analysis/expect/explain.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/expect/variants.hpp"

namespace numdiff::analysis::expect {
namespace {

// A candidate must decide at least this many elements, and agree in this share of them.
constexpr std::int64_t enough_elements = 3;
constexpr double enough_agreement = 0.9;
constexpr double enough_bits = 8;

std::string number(double count) {
  return std::to_string(static_cast<std::int64_t>(count));
}

std::string range_cause(const op_instance& op, defect why) {
  switch (why) {
    case defect::masked_row: return "fully-masked-row";
    case defect::accumulator_overflow: return "accumulator-overflow";
    case defect::empty_merge: return "empty-state-merge";
    case defect::masked_value: return "masked-value-leak";
    case defect::inherited: return "";
    case defect::inner_overflow:
    case defect::none: break;
  }
  const dtype written = op.writes.empty() ? dtype::unknown : op.writes.front().value.type;
  if (written == dtype::ue4m3 || written == dtype::f8e8m0fnu) return "scale-out-of-range";
  if (op.kind == "cast" || op.kind == "copy" || op.kind == "embedding") return "cast-overflow";
  // Attention scores that are scaled after they left the range.
  const bool forward = op.row != nullptr && static_cast<phase>(op.row->phase) == phase::forward;
  const auto activation = [](const operand& x) {
    return x.row != nullptr && static_cast<role>(x.row->role) == role::input;
  };
  if (why == defect::inner_overflow && op.kind == "matmul" && forward && op.reads.size() >= 2 &&
      activation(op.reads[0]) && activation(op.reads[1])) {
    return "score-overflow";
  }
  return "op-overflow";
}

// Results in the subnormal range that became zero.
fit without_subnormals(const operand& out, const expectation& honest, const output_format& format) {
  std::vector<double> values = honest.exact;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double smallest = std::ldexp(std::fabs(format.scale(i)), format.numbers.min_exponent);
    if (std::fabs(values[i]) < smallest) values[i] = 0;
  }
  return fit_of(out, honest, format, values, format.mode);
}

// Stored values that the exact result cut toward zero explains.
fit truncation(const operand& out, const expectation& honest, const output_format& format) {
  return fit_of(out, honest, format, honest.exact, rounding::toward_zero);
}

// Sums in an order that no candidate has: every result is a number of a narrower format, and off by more than
// one rounding to it.
void explain_grid(const operand& out, const expectation& honest, const output_format& format, judgement& j) {
  for (const dtype t : {dtype::bf16, dtype::f16, dtype::tf32}) {
    const grid g = grid_of(t);
    if (g.precision >= format.numbers.precision || format.integer) continue;
    std::int64_t on = 0, honest_on = 0, further = 0, all = 0;
    const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
    for (std::size_t k = 0; k < judged; ++k) {
      const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
      const double stored = out.value.values[i], exact = honest.exact[i];
      if (!std::isfinite(stored) || !std::isfinite(exact) || exact == 0) continue;
      ++all;
      on += g.holds(stored / format.scale(i));
      honest_on += g.holds(format.rounded(exact, i, format.mode) / format.scale(i));
      further += std::fabs(stored - exact) > format.scale(i) * g.ulp(exact / format.scale(i));
    }
    if (all < 8 || on < all || honest_on * 2 > all || further * 10 < all) continue;
    j.cause_hint = "low-precision-accumulate";
    j.reason =
        std::string("every result is a number of ") + name_of(t) + ", and off by more than its rounding";
    j.evidence.emplace_back("further_than_one_rounding", static_cast<double>(further));
    return;
  }
}

bool explains(const fit& f, const judgement& j) {
  const double before = j.expected > 0 ? j.observed / j.expected : HUGE_VAL;
  // One element decides as much when it stands far from the honest result and just where the fault puts it.
  return (f.apart >= enough_elements || f.bits >= enough_bits) && f.agree >= enough_agreement &&
         f.residual <= std::max(j.limit, 1.0) && f.residual < 0.5 * before;
}

// Of finite elements that are beyond: the fault that explains them best.
void explain_values(const op_instance& op, const expectation& honest, const output_format& format,
                    judgement& j) {
  const operand& out = op.writes[j.write];
  double best = 0;
  const auto offer = [&](const std::string& cause, const std::string& form, const fit& f) {
    if (!explains(f, j) || f.agree <= best) return;
    best = f.agree;
    j.cause_hint = cause;
    j.reason = form;
    std::erase_if(j.evidence, [](const auto& e) { return e.first.starts_with("hypothesis_"); });
    j.evidence.emplace_back("hypothesis_agreement", f.agree);
    j.evidence.emplace_back("hypothesis_elements", static_cast<double>(f.apart));
    j.evidence.emplace_back("hypothesis_residual", f.residual);
  };
  if (!honest.copies && format.mode != rounding::toward_zero) {
    // A float that becomes an index is cut in C and rounded elsewhere.
    const bool index = format.integer && format.scales == nullptr;
    offer(index ? "cast-convention" : "truncating-cast", "every element is cut toward zero",
          truncation(out, honest, format));
  }
  for (const hypothesis& h : honest.hypotheses) {
    if (best >= 1) break;  // nothing can agree better
    const std::vector<double> values = h.values(honest);
    if (values.size() == honest.exact.size())
      offer(h.cause, h.form, fit_of(out, honest, format, values, format.mode));
  }
  if (j.flushed > 0 && !format.integer) {
    offer(op.kind == "cast" ? "cast-underflow" : "op-underflow", "subnormal results became zero",
          without_subnormals(out, honest, format));
  }
  if (j.cause_hint.empty() && honest.divisor > 0 && std::isfinite(j.factor) && j.factor > 0) {
    const double count = std::nearbyint(honest.divisor / j.factor);
    if (count >= 1 && count != honest.divisor) {
      std::vector<double> values = honest.exact;
      for (double& v : values) v *= honest.divisor / count;
      offer("wrong-divisor", "divided by " + number(count) + ", not " + number(honest.divisor),
            fit_of(out, honest, format, values, format.mode));
    }
  }
  if (j.cause_hint.empty()) explain_stochastic(out, honest, format, j);
  if (j.cause_hint.empty() && adds_up(op.kind)) explain_grid(out, honest, format, j);
}

// Of elements that are not finite although the honest result fits: a candidate is named when it is so at just
// these.
void explain_nonfinite(const op_instance& op, const expectation& honest, const output_format& format,
                       judgement& j) {
  const operand& out = op.writes[j.write];
  const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
  for (const hypothesis& h : honest.hypotheses) {
    const std::vector<double> values = h.values(honest);
    if (values.size() != honest.exact.size()) continue;
    bool same = true;
    for (std::size_t k = 0; k < judged && same; ++k) {
      const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
      const double stored = out.value.values[i], candidate = values[i];
      if (std::isfinite(honest.exact[i]))
        same = std::isfinite(stored) ? std::isfinite(candidate)
                                     : stored == candidate || (std::isnan(stored) && std::isnan(candidate));
    }
    if (!same || fit_of(out, honest, format, values, format.mode).residual > std::max(j.limit, 1.0)) continue;
    j.cause_hint = h.cause;
    j.reason = h.form;
    j.evidence.emplace_back("nonfinite_explained", static_cast<double>(j.nonfinite_created));
    return;
  }
}

}  // namespace

fit fit_of(const operand& out, const expectation& honest, const output_format& format,
           const std::vector<double>& candidate, rounding mode) {
  fit f;
  double rest = 0, expected = 0;
  std::int64_t same = 0;
  const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
  for (std::size_t k = 0; k < judged; ++k) {
    const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
    const double stored = out.value.values[i];
    if (!std::isfinite(stored) || !std::isfinite(honest.exact[i]) || !std::isfinite(candidate[i])) continue;
    // A finite value past the largest number of a float format has become that; grids of integers end by
    // themselves.
    const double largest = format.integer ? HUGE_VAL : format.numbers.maximum * std::fabs(format.scale(i));
    const double as_candidate = std::clamp(format.rounded(candidate[i], i, mode), -largest, largest);
    const double as_honest = std::clamp(format.rounded(honest.exact[i], i, format.mode), -largest, largest);
    // The errors inside the op grow with the candidate.
    const double grown = honest.exact[i] != 0 ? std::max(1.0, std::fabs(candidate[i] / honest.exact[i])) : 1;
    const double internal = honest.variance[i] * grown * grown;
    const double blur = honest.internal_limit * std::sqrt(internal) + 1e-3 * format.ulp(stored, i);
    rest += (stored - as_candidate) * (stored - as_candidate);
    expected += internal + std::max(format.variance(candidate[i], i), format.variance(honest.exact[i], i));
    if (std::fabs(as_candidate - as_honest) > 3 * blur) {
      ++f.apart;
      if (std::fabs(stored - as_candidate) <= blur) {
        ++same;
        f.bits += std::log2(1 + std::fabs(as_candidate - as_honest) / std::max(blur, format.ulp(stored, i)));
      }
    }
  }
  if (f.apart > 0) f.agree = static_cast<double>(same) / static_cast<double>(f.apart);
  f.residual = expected > 0 ? std::sqrt(rest / expected) : (rest > 0 ? HUGE_VAL : 0);
  return f;
}

void explain(const op_instance& op, const expectation& honest, const output_format& format, defect why,
             std::int64_t hidden, judgement& j) {
  if (j.nonfinite_replayed > 0 && j.nonfinite_created == 0) {
    if (j.finite_over) {
      const std::string reason = j.reason;
      explain_values(op, honest, format, j);
      j.finite_hint = j.cause_hint;
      j.reason = reason;
    }
    j.cause_hint = range_cause(op, why);
  } else if (hidden > 0) {
    j.cause_hint = "nan-dropped";
  } else {
    if (j.nonfinite_created > 0) explain_nonfinite(op, honest, format, j);
    if (j.cause_hint.empty()) explain_values(op, honest, format, j);
  }
}

void explain_loss(const op_instance& op, const expectation& honest, judgement& j) {
  const operand& out = op.writes[j.write];
  if (j.flushed == 0 || is_integer(out.value.type)) return;
  const output_format format = output_format_of(op, out);
  const double normal = std::ldexp(1.0, format.numbers.min_exponent);
  double top = 0, nonzero = 0, flushed = 0;
  for (const double x : honest.exact)
    if (std::isfinite(x)) top = std::max(top, std::fabs(x));
  // What is farther below the largest than f32 tells apart in a sum is no loss.
  for (std::size_t i = 0; i < honest.exact.size(); ++i) {
    if (!std::isfinite(honest.exact[i]) || honest.exact[i] == 0 || std::fabs(honest.exact[i]) < 0x1p-24 * top)
      continue;
    ++nonzero;
    // Terms that cancel to zero leave a rest that the format could hold.
    const bool below = std::fabs(honest.exact[i]) < normal * std::fabs(format.scale(i));
    flushed += out.value.values[i] == 0 && below;
  }
  const double share = flushed / std::max(nonzero, 1.0);
  j.evidence.emplace_back("flushed_share", share);
  // Scaled FP8 casts flush up to a fifth of a healthy tensor.
  if (share < (out.value.scales.empty() ? 0.1 : 0.5)) return;
  const bool backward = op.row != nullptr && static_cast<phase>(op.row->phase) == phase::backward;
  if (backward && out.value.scales.empty()) {
    j.cause_hint = "loss-scale";
  } else {
    j.cause_hint = op.kind == "cast" ? "cast-underflow" : "op-underflow";
  }
  j.reason = "nonzero results below the smallest number of the format became zero";
}

}  // namespace numdiff::analysis::expect
