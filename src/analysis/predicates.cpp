#include "analysis/predicates.hpp"

#include <algorithm>
#include <cmath>

#include "numdiff/format.hpp"

namespace numdiff::analysis::when {

namespace {

bool local_beyond(const evidence& e) {
  return e.local != nullptr && e.local->v == verdict::beyond;
}

// A common factor explains the local error.
bool local_factor(const evidence& e, double& factor) {
  if (!local_beyond(e) || e.local->nonfinite_created + e.local->nonfinite_replayed > 0) return false;
  if (is_integer(e.type)) return false;  // chosen or counted, not computed
  factor = e.local->factor;
  if (!std::isfinite(factor) || factor == 0 || std::abs(factor - 1) < 1e-3) return false;
  // A larger result has larger roundings.
  const double residual = e.local->factor_residual / std::max(1.0, std::abs(factor));
  return residual <= std::max(1.5, e.local->limit) && e.local->ratio > 3 * std::max(1.0, residual);
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-2 * std::abs(b);
}
double told(const judgement* j, std::string_view name) {
  if (j == nullptr) return 0;
  const auto at = std::ranges::find(j->evidence, name, &evidence_list::value_type::first);
  return at == j->evidence.end() ? 0 : at->second;
}

bool below_zero(const merged_capture& x) {
  return x.sum_abs - x.sum > 1e-9 * x.sum_abs;
}

// A difference of which little more than roundings is left, where they become large again. That they are all
// of it the other run tells, or a root of what must not be negative.
bool only_roundings(const evidence& e) {
  constexpr double most = 0.5;
  return e.written && e.feeds_root && told(e.local, "cancelled_share") >= most &&
         (e.partner == nullptr ? below_zero(*e.own) : e.apart.relative_l2 > most);
}

bool made_infinity(const evidence& e) {
  return e.nonfinite_created && e.own->positive_infinity + e.own->negative_infinity > 0;
}

}  // namespace

// Replay tried this cause on the stored numbers, and it explains them.
bool hinted(const evidence& e, const rule& r) {
  return e.local != nullptr && e.local->cause_hint == r.cause;
}

bool hinted_beyond(const evidence& e, const rule& r) {
  return local_beyond(e) && hinted(e, r);
}

bool divided_by_group(const evidence& e, const rule&) {
  double f = 0;
  if (!e.collective || !local_factor(e, f)) return false;
  const auto ranks = static_cast<double>(e.group_size);
  if (near(f * ranks, 1) || (e.averages && near(f, ranks))) return true;
  // By the size of another axis, or the ranks of all.
  const double right = e.averages ? ranks : 1, divisor = std::nearbyint(right / f);
  return divisor >= 1 && divisor != right && divisor <= static_cast<double>(e.world_size) &&
         std::fmod(static_cast<double>(e.world_size), divisor) == 0 && near(f * divisor, right);
}
// A constant that was rounded is more than a factor.
bool any_factor(const evidence& e, const rule&) {
  double f = 0;
  return local_factor(e, f) && e.local->cause_hint != "constant-precision";
}
bool again(const evidence& e, const rule&) {
  double f = 0;
  return e.factor_upstream && (local_factor(e, f) || (e.scalar_differs && e.scalar_factor));
}
bool other_factor(const evidence& e, const rule&) {
  return e.scalar_differs && e.scalar_factor && !e.scalar_rounded;
}
bool handled(const evidence& e, const rule&) {
  return e.skipped_step && e.phase != phase::forward && e.own != nullptr && e.own->nonfinite() > 0;
}
bool zero_scales(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) ||
         (e.written && e.scales_zero > 0 && e.own->amax == 0 && e.own->nonfinite() > 0);
}
bool other_scale(const evidence& e, const rule& r) {
  double f = 0;
  const bool one_factor = e.scaled_reads && local_factor(e, f) && e.local->cause_hint.empty();
  return hinted(e, r) || e.rescaled != rescaling::none || e.source == source_state::rescaled || one_factor;
}
bool scale_inverted(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.rescaled == rescaling::inverse;
}
bool scale_regrouped(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.rescaled == rescaling::regrouped;
}
bool empty_merge(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.merges_empty && e.kind != "softmax");
}
// A gradient that would fit its format without the loss scale, which the other run tells.
bool overscaled(const evidence& e, const rule&) {
  const bool overflows = e.nonfinite_created || (local_beyond(e) && e.local->nonfinite_replayed > 0);
  return e.phase == phase::backward && overflows && e.own->pending_factor > 1 && e.partner != nullptr &&
         e.partner->amax <= e.partner->pending_factor * format_of(e.type).max_finite();
}
bool leaks(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) ||
         (e.kind == "matmul" && e.nonfinite_created && e.hides_inputs && e.own->nan > 0);
}
bool side_overflowed(const evidence& e, const rule&) {
  return e.nonfinite_created && e.beside_result && e.own->nan == 0;
}
bool vanished(const evidence& e, const rule& r) {
  const bool all = e.source == source_state::vanished && r.cause == std::string_view("cast-underflow");
  return all || hinted_beyond(e, r) || (hinted(e, r) && e.lost);
}
bool bad_scales(const evidence& e, const rule& r) {
  return ((hinted_beyond(e, r) || (e.is_scale && e.nonfinite_created)) && e.own->nonfinite() > 0) ||
         (e.written && e.scales_nonfinite > 0);
}
bool cut_down(const evidence& e, const rule&) {
  return e.lost && e.local->saturated > 0;
}
bool adds_masks(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.adds_masks && e.nonfinite_created && e.own->negative_infinity > 0 &&
                                 e.own->positive_infinity + e.own->nan == 0);
}
bool masked_row(const evidence& e, const rule& r) {
  return hinted(e, r) || e.masked_rows ||
         (e.kind == "softmax" && e.nonfinite_created && e.own->nan > 0 && e.written);
}
bool scores(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r)) return true;
  return e.kind == "matmul" && e.feeds_softmax &&
         (made_infinity(e) || (local_beyond(e) && e.local->cause_hint == "op-overflow"));
}
bool cast_overflowed(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.nonfinite_created && e.cast_overflowing > 0);
}
// Finite addends, or a mean of them, leave the range only in their sum; where an op adds products or squares,
// only its replay can tell which of the two overflowed. A replay knows whether sum or result left its range.
bool sum_overflowed(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) ||
         (e.local == nullptr && made_infinity(e) && (e.kind == "sum" || e.kind == "mean"));
}
bool op_overflowed(const evidence& e, const rule& r) {
  // Kinds that add, and one that divides inside.
  constexpr std::string_view open[] = {"sum",      "mean",       "variance",  "sum_of_squares", "matmul",
                                       "rms_norm", "layer_norm", "attention", "convolution",    "adamw"};
  return hinted_beyond(e, r) ||
         (made_infinity(e) && !e.collective && !e.divides_by_zero &&
          told(e.local, "nonfinite_explained") == 0 && std::ranges::find(open, e.kind) == std::end(open));
}
bool made_nan(const evidence& e, const rule&) {
  return e.nonfinite_created;
}
// Gradients that vanish although they carry a scale, or in a wide format, are small, not unscaled.
bool unscaled_gradients(const evidence& e, const rule& r) {
  return hinted(e, r) && (local_beyond(e) || (e.own->pending_factor == 1 && bytes_of(e.type) <= 2));
}
bool stale(const evidence& e, const rule& r) {
  return hinted(e, r);
}
bool clipped(const evidence& e, const rule&) {
  return e.cast_count > 0 && e.cast_beyond > 0 && e.cast_headroom > 2.0 && !e.follows_step_before;
}
bool repeated_reduction(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r) || (e.reduces_twice && e.written)) return true;
  double f = 0;
  return e.collective && !e.averages && local_factor(e, f) && near(f, static_cast<double>(e.group_size));
}
bool diverged_replica(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.unequal_replica >= 0;
}
bool groups_differ(const evidence& e, const rule&) {
  return e.group_broken.has_value();
}
bool swapped(const evidence& e, const rule&) {
  return e.culprits.swapped.has_value();
}
bool wrong_shard(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.gap == gap::foreign_rank || e.gap == gap::rearranged ||
         e.gap == gap::other_tensor || e.source == source_state::permuted;
}
bool recomputes_otherwise(const evidence& e, const rule&) {
  return e.recomputed == recomputed_state::differs;
}
bool changed_between(const evidence& e, const rule&) {
  return e.gap == gap::no_writer;
}
bool lost_step(const evidence& e, const rule& r) {
  return hinted(e, r) || e.unmoved;
}
bool rounded_integers(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.source == source_state::rounded_integers;
}
bool other_convention(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.other_overflow || e.source == source_state::reinterpreted;
}
bool other_input(const evidence& e, const rule&) {
  return e.source == source_state::differs;
}
bool constant_vanished(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r) || (e.source == source_state::vanished && e.own->count == 1)) return true;
  return e.scalar_differs && e.scalar == 0 && e.partner_scalar != 0;
}
bool constant_rounded(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.scalar_differs && e.scalar_rounded);
}
bool other_setting(const evidence& e, const rule&) {
  return e.scalar_differs;
}
bool other_structure(const evidence& e, const rule&) {
  return e.structure;
}
// Rows that see nothing, filled by convention.
bool by_convention(const evidence& e, const rule&) {
  if (!e.written || told(e.local, "undefined_rows") == 0 || told(e.partner_local, "undefined_rows") == 0)
    return false;
  return e.local->v == verdict::within &&
         !near(told(e.local, "undefined_fill"), told(e.partner_local, "undefined_fill"));
}
// The result breaks a rule that holds whatever the precision.
bool impossible(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r)) return told(e.local, "impossible") > 0;
  return r.cause == std::string_view("cancellation") && only_roundings(e) && below_zero(*e.own);
}
bool cancels(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || only_roundings(e);
}
bool in_range(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && e.local->nonfinite_created + e.local->nonfinite_replayed == 0;
}
// Of a collective: no value arrives infinite, or at the maximum of a wire that saturates, that was brought
// so.
bool out_of_range(const evidence& e, const rule& r) {
  if (e.collective && (made_infinity(e) || cut_down(e, r))) return true;
  return hinted_beyond(e, r) && e.local->nonfinite_created + e.local->nonfinite_replayed > 0;
}
bool lost_all(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && e.local->flushed > 0;
}
bool hinted_one_sided(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && std::abs(e.local->bias) > 0.9;
}
bool terms_of_reference(const evidence& e, const rule&) {
  return e.unequal_replica >= 0 && (e.read_terms || e.adds_up.found != addends::none);
}
bool uncalibrated(const evidence& e, const rule& r) {
  return hinted(e, r) || (e.scale_is_one && e.cast_beyond > 0 && e.cast_headroom > 2.0);
}
bool beyond_noise(const evidence& e, const rule&) {
  return e.noise_limit > 0;
}
bool breaks_invariant(const evidence& e, const rule&) {
  return e.broken.has_value();
}
bool one_sided(const evidence& e, const rule&) {
  return local_beyond(e) && !is_integer(e.type) && std::abs(e.local->bias_z) > 6 &&
         std::abs(e.local->bias) > 0.3;
}
bool beyond_replay(const evidence& e, const rule&) {
  return local_beyond(e);
}
bool beyond_distance(const evidence& e, const rule&) {
  return e.apart_limit > 0 && !(e.apart.relative_l2 <= e.apart_limit);
}
bool far_factor(const evidence& e, const rule& r) {
  return beyond_distance(e, r) && e.apart.cosine > 0.9999 && std::abs(e.apart.factor - 1) > 1e-3 &&
         e.apart.factor_residual < 0.05 * std::abs(e.apart.factor - 1);
}

}  // namespace numdiff::analysis::when
