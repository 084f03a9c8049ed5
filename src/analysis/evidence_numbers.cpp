// The named numbers behind a finding.
#include <algorithm>
#include <cmath>

#include "analysis/rules.hpp"

namespace numdiff::analysis {

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
  if (e.adds_up.found != addends::none) {
    add(e.adds_up.found == addends::sum ? "sum_residual" : "mean_residual", e.adds_up.residual);
  }
  if (e.changed.from_values) {
    add("changed_elements", static_cast<double>(e.changed.different));
    add("changed_worst_index", static_cast<double>(e.changed.worst_index));
    add("changed_worst_absolute", e.changed.worst_absolute);
  }
  if (e.recomputed == recomputed_state::differs &&
      (e.from_forward.from_values || e.from_forward.from_sketch)) {
    add("forward_relative_l2", e.from_forward.relative_l2);
    if (e.from_forward.from_values)
      add("forward_elements_different", static_cast<double>(e.from_forward.different));
  }
  if (e.group_broken) {
    add("value_here", e.group_broken->value);
    add("value_of_group", e.group_broken->bound);
  }
  if (e.broken) {
    add("invariant_value", e.broken->value);
    add("invariant_bound", e.broken->bound);
  }
  if (e.scalar_differs) {
    add("value", e.scalar);
    add("other_value", e.partner_scalar);
  }
  if (e.apart.from_values || e.apart.from_sketch) {
    add("relative_l2", e.apart.relative_l2);
    if (e.apart_limit > 0) add("relative_l2_limit", e.apart_limit);
    if (e.noise_limit > 0) add("relative_l2_good_runs", e.noise_limit);
    if (e.apart.from_values) {
      add("elements_different", static_cast<double>(e.apart.different));
      add("worst_absolute", e.apart.worst_absolute);
      add("worst_relative", e.apart.worst_relative);
      if (e.apart.against_zero > 0) add("against_zero", static_cast<double>(e.apart.against_zero));
      if (e.apart.nan_mismatch > 0) add("nan_mismatch", static_cast<double>(e.apart.nan_mismatch));
      if (e.apart.inf_mismatch > 0) add("inf_mismatch", static_cast<double>(e.apart.inf_mismatch));
    }
  }
  const located& c = e.culprits.is == located::answer::unknown ? e.other_culprits : e.culprits;
  if (c.is != located::answer::unknown) {
    if (&c == &e.other_culprits && c.ranks.size() == 1) add("other_run_rank", c.ranks.front());
    add("shard_relative_l2", c.relative_l2);
    add("shard_factor", c.factor);
  }
  if (c.element) {
    add("element", static_cast<double>(c.element->index));
    if (c.element->bit >= 0) add("bit", c.element->bit);
  }
  if (c.swapped) {
    add("swapped_first", static_cast<double>(c.swapped->first));
    add("swapped_second", static_cast<double>(c.swapped->second));
    add("swapped_pairs", static_cast<double>(c.swapped->pairs));
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
