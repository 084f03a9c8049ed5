#include "analysis/rules.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>

namespace numdiff::analysis {

namespace {

bool local_beyond(const evidence& e) {
  return e.local != nullptr && e.local->v == verdict::beyond;
}

// Replay tried this cause on the stored numbers, and it explains them.
bool hinted(const evidence& e, const rule& r) {
  return e.local != nullptr && e.local->cause_hint == r.cause;
}

bool hinted_beyond(const evidence& e, const rule& r) {
  return local_beyond(e) && hinted(e, r);
}

// A common factor explains the local error.
bool local_factor(const evidence& e, double& factor) {
  if (!local_beyond(e) || e.local->nonfinite_created + e.local->nonfinite_replayed > 0) return false;
  factor = e.local->factor;
  if (!std::isfinite(factor) || factor == 0 || std::abs(factor - 1) < 1e-3) return false;
  return e.local->factor_residual <= std::max(1.5, e.local->limit) &&
         e.local->ratio > 3 * std::max(1.0, e.local->factor_residual);
}

bool near(double a, double b) {
  return std::abs(a - b) <= 1e-2 * std::abs(b);
}

bool whole_group_factor(const evidence& e, const rule&) {
  double f = 0;
  return e.collective && local_factor(e, f) && near(f, static_cast<double>(e.group_size));
}
bool divided_by_group(const evidence& e, const rule&) {
  double f = 0;
  return e.collective && local_factor(e, f) &&
         (near(f * static_cast<double>(e.group_size), 1) || near(f, static_cast<double>(e.group_size)));
}
bool any_factor(const evidence& e, const rule&) {
  double f = 0;
  return local_factor(e, f);
}
bool again(const evidence& e, const rule&) {
  double f = 0;
  return e.factor_upstream && (local_factor(e, f) || (e.scalar_differs && e.scalar_factor));
}
bool other_factor(const evidence& e, const rule&) {
  return e.scalar_differs && e.scalar_factor;
}
bool handled(const evidence& e, const rule&) {
  return e.skipped_step && e.phase != phase::forward && e.own != nullptr && e.own->nonfinite() > 0;
}
bool zero_scales(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) ||
         (e.written && e.scales_zero > 0 && e.own->amax == 0 && e.own->nonfinite() > 0);
}
bool bad_scales(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.written && e.scales_nonfinite > 0);
}
bool masked_row(const evidence& e, const rule& r) {
  return hinted(e, r) || (e.kind == "softmax" && e.nonfinite_created && e.own->nan > 0 && e.written);
}
bool scores(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r)) return true;
  return e.kind == "matmul" && e.feeds_softmax && e.nonfinite_created &&
         e.own->positive_infinity + e.own->negative_infinity > 0;
}
bool cast_overflowed(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.nonfinite_created && e.cast_overflowing > 0);
}
bool op_overflowed(const evidence& e, const rule& r) {
  if (hinted_beyond(e, r)) return true;
  return e.nonfinite_created && e.own->positive_infinity + e.own->negative_infinity > 0;
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
  return e.cast_count > 0 && e.cast_beyond > 0 && e.cast_headroom > 2.0;
}
bool repeated_reduction(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || (e.reduces_twice && e.written);
}
bool diverged_replica(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.unequal_replica >= 0;
}
bool wrong_shard(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.gap == gap::foreign_rank || e.gap == gap::rearranged ||
         e.source == source_state::permuted;
}
bool changed_between(const evidence& e, const rule&) {
  return e.gap == gap::no_writer;
}
bool rounded_integers(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) || e.source == source_state::rounded_integers;
}
bool other_input(const evidence& e, const rule&) {
  return e.source == source_state::differs;
}
bool constant_vanished(const evidence& e, const rule&) {
  return e.scalar_differs && e.scalar == 0 && e.partner_scalar != 0;
}
bool constant_rounded(const evidence& e, const rule&) {
  return e.scalar_differs && e.partner_scalar != 0 && e.unit > 0 &&
         std::abs(e.scalar / e.partner_scalar - 1) <= 2 * e.unit;
}
bool other_setting(const evidence& e, const rule&) {
  return e.scalar_differs;
}
bool other_structure(const evidence& e, const rule&) {
  return e.structure;
}
double told(const evidence& e, std::string_view name) {
  if (e.local == nullptr) return 0;
  const auto at = std::ranges::find(e.local->evidence, name, &evidence_list::value_type::first);
  return at == e.local->evidence.end() ? 0 : at->second;
}
// Rows that see nothing, filled by convention.
bool by_convention(const evidence& e, const rule&) {
  return e.written && e.local != nullptr && e.local->v == verdict::within && told(e, "undefined_rows") > 0;
}
// The result breaks a rule that holds whatever the precision.
bool impossible(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && told(e, "impossible") > 0;
}
bool in_range(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && e.local->nonfinite_created + e.local->nonfinite_replayed == 0;
}
bool out_of_range(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && e.local->nonfinite_created + e.local->nonfinite_replayed > 0;
}
bool lost_all(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && e.local->flushed > 0;
}
bool hinted_one_sided(const evidence& e, const rule& r) {
  return hinted_beyond(e, r) && std::abs(e.local->bias) > 0.9;
}
bool terms_of_reference(const evidence& e, const rule&) {
  return e.adds_up;
}
bool one_sided(const evidence& e, const rule&) {
  return local_beyond(e) && std::abs(e.local->bias_z) > 6 && std::abs(e.local->bias) > 0.3;
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

constexpr const char* run_wider = "run this op alone in fp32 on the same inputs";

constexpr rule table[] = {
    {"ND190", "overflow", "handled-overflow", handled, "",
     "made non-finite gradients in a step that was skipped", true},
    {"ND191", "undefined", "convention-undefined", by_convention, "",
     "fills rows that see nothing by another convention", true},

    // masks and range
    {"ND201", "nan", "fully-masked-row", masked_row,
     "give the row one visible entry, or define its result as zero", "met a row without any visible entry"},
    {"ND202", "overflow", "mask-add-overflow", hinted_beyond,
     "select with one combined mask instead of adding masks", "added masks past the finite range"},
    {"ND302", "nan", "scale-out-of-range", bad_scales, "keep the scale in fp32 or bound it by its format",
     "has a scale that is not finite"},
    {"ND101", "overflow", "score-overflow", scores,
     "scale the queries before the product, or keep the scores in bf16 or fp32",
     "made attention scores beyond the range of their format"},
    {"ND609", "overflow", "low-precision-communication", out_of_range, "repeat with an fp32 wire format",
     "leaves the range of the wire"},
    {"ND610", "underflow", "low-precision-communication", lost_all, "repeat with an fp32 wire format",
     "falls below the range of the wire"},
    {"ND112", "saturation", "accumulator-overflow", in_range, "accumulate in a wider format",
     "saturates its accumulator"},
    {"ND102", "overflow", "accumulator-overflow", hinted_beyond, "accumulate in a wider format",
     "overflowed its accumulator"},
    {"ND103", "overflow", "cast-overflow", cast_overflowed,
     "scale before the cast, or cast to a wider format", "cast values beyond the range of the format"},
    {"ND104", "overflow", "op-overflow", op_overflowed, run_wider, "overflowed inside the op"},
    {"ND105", "overflow", "side-value-overflow", hinted_beyond, "keep the side value in a wider format",
     "overflowed a side value"},
    {"ND106", "underflow", "loss-scale", unscaled_gradients,
     "repeat the step with a loss scale of 1024 or more", "lost gradients to zero for want of a loss scale"},
    {"ND107", "underflow", "constant-underflow", constant_vanished, "keep the constant in fp32",
     "uses a constant that became zero"},
    {"ND108", "underflow", "cast-underflow", hinted_beyond, "scale before the cast",
     "cast small values to zero"},
    {"ND109", "underflow", "op-underflow", hinted_beyond, run_wider, "lost small results to zero"},

    // scaling
    {"ND301", "nan", "zero-scale", zero_scales, "give the scale a floor", "divided by a scale of zero"},
    {"ND303", "saturation", "stale-scale", stale, "compute the scale from this tensor's own amax",
     "used a scale that does not fit this tensor's amax"},
    {"ND304", "saturation", "uncalibrated-scale", hinted, "calibrate the scale",
     "used a scale that was never set"},
    {"ND305", "factor", "scale-mismatch", hinted, "decode with the scale that encoded",
     "decodes with another scale than encoded"},
    {"ND306", "factor", "scale-direction", hinted, "swap encode and decode scale",
     "uses its scale the wrong way round"},
    {"ND307", "mismatch", "scale-index", hinted, "decode block by block on the host",
     "reads scales of other groups"},
    {"ND308", "underflow", "scale-granularity", hinted, "give each group its own scale",
     "spans groups of very different size with one scale"},
    {"ND309", "saturation", "stale-scale", clipped, "compute the scale from this tensor's own amax",
     "cuts values that its scale cannot hold"},
    {"ND310", "nan", "nan-dropped", hinted_beyond, "count non-finite values before the op",
     "hides a non-finite value"},

    // ranks
    {"ND601", "invariant", "missing-reduction", hinted, "reduce over the group and compare again",
     "passes on partial sums as if they were reduced"},
    {"ND602", "factor", "duplicate-reduction", repeated_reduction, "leave the second reduction out",
     "reduces data that were reduced already"},
    {"ND603", "factor", "duplicate-reduction", whole_group_factor, "leave the second reduction out",
     "is too large by the size of its group"},
    {"ND604", "factor", "wrong-divisor", divided_by_group, "divide by the number of ranks that hold a share",
     "is off by the size of its group"},
    {"ND605", "mismatch", "low-precision-communication", hinted_beyond, "repeat with an fp32 wire format",
     "loses bits or range on the wire"},
    {"ND606", "mismatch", "shard-mismatch", wrong_shard,
     "print the index range that each rank holds and reads", "reads another part than its rank should"},
    {"ND608", "invariant", "missing-reduction", terms_of_reference, "reduce over the group and compare again",
     "holds partial sums where every rank must hold the whole"},
    {"ND607", "invariant", "replica-divergence", diverged_replica,
     "broadcast from one rank and compare again", "differs between ranks that must agree"},

    // rounding
    {"ND401", "bias", "truncating-cast", hinted_beyond, "round to nearest even", "cuts instead of rounding"},
    {"ND402", "lost-update", "lost-update", hinted, "keep a master copy in fp32",
     "makes steps below half an ulp of the state"},
    {"ND413", "invariant", "cancellation", impossible, "compute the difference before squaring (two passes)",
     "makes a value that cannot be"},
    {"ND414", "invariant", "rounding-order", impossible, "round both copies at the same place",
     "makes a value that cannot be"},
    {"ND403", "mismatch", "cancellation", hinted_beyond,
     "compute the difference before squaring (two passes)", "subtracts nearly equal numbers"},
    {"ND404", "mismatch", "unrepresentable-integer", rounded_integers,
     "keep positions and counters in fp32 or integers", "holds integers that its format cannot tell apart"},
    {"ND405", "bias", "narrow-accumulator", hinted_beyond, "promote the accumulator more often",
     "cuts products before it adds them"},
    {"ND406", "mismatch", "low-precision-partials", hinted_beyond, "keep partial sums in fp32",
     "rounds partial sums"},
    {"ND415", "bias", "low-precision-accumulate", hinted_one_sided, "accumulate in fp32",
     "loses addends to its accumulator"},
    {"ND407", "mismatch", "low-precision-accumulate", hinted_beyond, "accumulate in fp32",
     "accumulates in fewer bits than it says"},
    {"ND408", "mismatch", "reduced-input-precision", hinted_beyond,
     "turn TF32 and reduced-precision passes off", "rounds its inputs to fewer bits than their format has"},
    {"ND409", "mismatch", "double-rounding", hinted_beyond, "cast in one step",
     "rounds through a third format"},
    {"ND410", "mismatch", "rounding-order", hinted_beyond, "round at the same place",
     "rounds at another place"},
    {"ND411", "noise", "stochastic-rounding", hinted_beyond, "fix the seed, or round to nearest",
     "rounds stochastically"},
    {"ND412", "mismatch", "cast-convention", hinted_beyond, "cast with the same saturation rule and format",
     "follows another convention for this cast"},

    // factors
    {"ND501", "factor", "factor-missing", hinted_beyond, "apply the factor once", "lacks a factor"},
    {"ND502", "factor", "factor-repeated", hinted_beyond, "apply the factor once", "applies a factor twice"},
    {"ND503", "factor", "wrong-divisor", hinted_beyond, "divide by the right count",
     "divides by the wrong count"},
    {"ND504", "factor", "wrong-weighting", hinted_beyond, "weigh by elements",
     "weighs ranks instead of elements"},
    {"ND506", "factor", "factor-repeated", again, "apply the factor once",
     "applies a factor that an earlier op applied already"},
    {"ND507", "factor", "setting-differs", other_factor, "run both with the same factor",
     "multiplies by another factor than the reference"},
    {"ND505", "factor", "open", any_factor, "look for a factor that is missing or applied twice",
     "is off by a common factor"},

    // memory and runs
    {"ND701", "mismatch", "recompute-mismatch", hinted, "store instead of recomputing",
     "recomputes another value"},
    {"ND702", "mismatch", "storage-corruption", changed_between, "capture the tensor right before this op",
     "reads a tensor that changed with no op between"},
    {"ND801", "mismatch", "input-differs", other_input,
     "start both runs from the same inputs, weights and seeds",
     "starts from another tensor than the reference"},
    {"ND802", "mismatch", "constant-precision", constant_rounded, "give the constant the same precision",
     "uses a constant of another precision"},
    {"ND803", "mismatch", "setting-differs", other_setting, "run both with the same setting",
     "uses another constant than the reference"},
    {"ND804", "structure", "structure-differs", other_structure, "",
     "has another shape than in the reference"},

    // open
    {"ND901", "nan", "open", made_nan, run_wider, "makes non-finite values from finite inputs"},
    {"ND902", "bias", "open", one_sided, run_wider, "is off to one side by more than its formats explain"},
    {"ND903", "mismatch", "open", beyond_replay, run_wider, "is off by more than its formats explain"},
    {"ND904", "factor", "open", far_factor, "look for a factor that is missing or applied twice",
     "differs from the reference by a common factor"},
    {"ND905", "mismatch", "open", beyond_distance, "capture this op at level tensors",
     "is farther from the reference than its inputs and formats explain"},
};

}  // namespace

std::span<const rule> rules() {
  return table;
}

const rule* decide(const evidence& e, std::vector<const rule*>& others) {
  const rule* first = nullptr;
  others.clear();
  for (const rule& r : table) {
    if (!r.when(e, r)) continue;
    if (first == nullptr)
      first = &r;
    else
      others.push_back(&r);
  }
  return first;
}

evidence_list numbers_of(const evidence& e) {
  evidence_list list;
  const auto add = [&](const char* name, double value) { list.emplace_back(name, value); };
  if (e.local != nullptr) {
    add("local_observed", e.local->observed);
    add("local_expected", e.local->expected);
    add("ratio", e.local->ratio);
    add("limit", e.local->limit);
    add("bias", e.local->bias);
    add("bias_z", e.local->bias_z);
    add("factor", e.local->factor);
    add("factor_residual", e.local->factor_residual);
    if (e.local->worst_index >= 0) {
      add("worst_index", static_cast<double>(e.local->worst_index));
      add("worst_absolute", e.local->worst_absolute);
      add("worst_ulp", e.local->worst_ulp);
    }
    if (e.local->nonfinite_created > 0)
      add("nonfinite_created", static_cast<double>(e.local->nonfinite_created));
    if (e.local->nonfinite_replayed > 0)
      add("nonfinite_replayed", static_cast<double>(e.local->nonfinite_replayed));
    if (e.local->flushed > 0) add("flushed", static_cast<double>(e.local->flushed));
    if (e.local->saturated > 0) add("saturated", static_cast<double>(e.local->saturated));
    for (const auto& [name, value] : e.local->evidence) list.emplace_back(name, value);
  }
  if (e.own != nullptr) {
    if (e.own->nan > 0) add("nan", static_cast<double>(e.own->nan));
    if (e.own->positive_infinity + e.own->negative_infinity > 0) {
      add("inf", static_cast<double>(e.own->positive_infinity + e.own->negative_infinity));
    }
    if (e.own->nonfinite() > 0 && e.own->first_nonfinite >= 0) {
      add("first_nonfinite", static_cast<double>(e.own->first_nonfinite));
    }
    add("elements", static_cast<double>(e.own->count));
  }
  if (e.cast_count > 0) {
    add("cast_beyond_maximum", static_cast<double>(e.cast_beyond));
    add("cast_overflowing", static_cast<double>(e.cast_overflowing));
    add("cast_flushed", static_cast<double>(e.cast_flushed));
    if (e.cast_headroom > 0) add("cast_headroom", e.cast_headroom);
  }
  if (e.scales_zero > 0) add("scales_zero", static_cast<double>(e.scales_zero));
  if (e.scales_nonfinite > 0) add("scales_nonfinite", static_cast<double>(e.scales_nonfinite));
  if (e.group_size > 0) add("group_size", static_cast<double>(e.group_size));
  if (e.unequal_replica >= 0) add("rank", e.unequal_replica);
  if (e.scalar_differs) {
    add("value", e.scalar);
    add("other_value", e.partner_scalar);
  }
  if (e.apart.from_values || e.apart.from_sketch) {
    add("relative_l2", e.apart.relative_l2);
    if (e.apart_limit > 0) add("relative_l2_limit", e.apart_limit);
    if (e.apart.from_values) {
      add("elements_different", static_cast<double>(e.apart.different));
      add("worst_absolute", e.apart.worst_absolute);
      add("worst_relative", e.apart.worst_relative);
      if (e.apart.against_zero > 0) add("against_zero", static_cast<double>(e.apart.against_zero));
      if (e.apart.nan_mismatch > 0) add("nan_mismatch", static_cast<double>(e.apart.nan_mismatch));
      if (e.apart.inf_mismatch > 0) add("inf_mismatch", static_cast<double>(e.apart.inf_mismatch));
    }
  }
  // One value a name: the first told wins.
  evidence_list unique;
  for (auto& item : list) {
    const bool known = std::ranges::any_of(unique, [&](const auto& u) { return u.first == item.first; });
    if (!known && std::isfinite(item.second)) unique.push_back(std::move(item));
  }
  return unique;
}

}  // namespace numdiff::analysis
