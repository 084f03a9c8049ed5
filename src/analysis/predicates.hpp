#pragma once
// When the rules fire. Most ask whether replay found the rule's own cause.
#include "analysis/rules.hpp"

namespace numdiff::analysis::when {

bool hinted(const evidence& e, const rule& r);
bool hinted_beyond(const evidence& e, const rule& r);
bool divided_by_group(const evidence& e, const rule& r);
bool any_factor(const evidence& e, const rule& r);
bool again(const evidence& e, const rule& r);
bool other_factor(const evidence& e, const rule& r);
bool handled(const evidence& e, const rule& r);
bool zero_scales(const evidence& e, const rule& r);
bool bad_scales(const evidence& e, const rule& r);
bool other_scale(const evidence& e, const rule& r);
bool scale_inverted(const evidence& e, const rule& r);
bool scale_regrouped(const evidence& e, const rule& r);
bool empty_merge(const evidence& e, const rule& r);
bool leaks(const evidence& e, const rule& r);
bool overscaled(const evidence& e, const rule& r);
bool side_overflowed(const evidence& e, const rule& r);
bool vanished(const evidence& e, const rule& r);
bool cut_down(const evidence& e, const rule& r);
bool adds_masks(const evidence& e, const rule& r);
bool masked_row(const evidence& e, const rule& r);
bool scores(const evidence& e, const rule& r);
bool cast_overflowed(const evidence& e, const rule& r);
bool sum_overflowed(const evidence& e, const rule& r);
bool op_overflowed(const evidence& e, const rule& r);
bool made_nan(const evidence& e, const rule& r);
bool unscaled_gradients(const evidence& e, const rule& r);
bool stale(const evidence& e, const rule& r);
bool clipped(const evidence& e, const rule& r);
bool repeated_reduction(const evidence& e, const rule& r);
bool diverged_replica(const evidence& e, const rule& r);
bool groups_differ(const evidence& e, const rule& r);
bool swapped(const evidence& e, const rule& r);
bool wrong_shard(const evidence& e, const rule& r);
bool recomputes_otherwise(const evidence& e, const rule& r);
bool changed_between(const evidence& e, const rule& r);
bool lost_step(const evidence& e, const rule& r);
bool rounded_integers(const evidence& e, const rule& r);
bool other_convention(const evidence& e, const rule& r);
bool other_input(const evidence& e, const rule& r);
bool constant_vanished(const evidence& e, const rule& r);
bool constant_rounded(const evidence& e, const rule& r);
bool other_setting(const evidence& e, const rule& r);
bool other_structure(const evidence& e, const rule& r);
bool uncalibrated(const evidence& e, const rule& r);
bool beyond_noise(const evidence& e, const rule& r);
bool breaks_invariant(const evidence& e, const rule& r);
bool by_convention(const evidence& e, const rule& r);
bool cancels(const evidence& e, const rule& r);
bool impossible(const evidence& e, const rule& r);
bool in_range(const evidence& e, const rule& r);
bool out_of_range(const evidence& e, const rule& r);
bool lost_all(const evidence& e, const rule& r);
bool hinted_one_sided(const evidence& e, const rule& r);
bool terms_of_reference(const evidence& e, const rule& r);
bool one_sided(const evidence& e, const rule& r);
bool beyond_replay(const evidence& e, const rule& r);
bool beyond_distance(const evidence& e, const rule& r);
bool far_factor(const evidence& e, const rule& r);

}  // namespace numdiff::analysis::when
