#include "analysis/losses.hpp"

#include <algorithm>
#include <utility>

namespace numdiff::analysis {

namespace {

// Non-finite values that the op met only where a weight of zero hides them.
bool skips_masked(const evidence& e) {
  return e.local != nullptr && std::ranges::any_of(e.local->evidence, [](const auto& named) {
           return named.first == "masked_values_skipped" && named.second > 0;
         });
}

}  // namespace

finding nonfinite_made(const evidence& e) {
  finding f = stated("ND192", {}, 0);
  if (e.own->nan == 0) f.symptom = "inf";
  f.evidence = numbers_of(e);
  f.benign = !e.nonfinite_created;
  return f;
}

std::vector<finding> losses_of(const evidence& e, const reads_health& reads) {
  std::vector<finding> list;
  if (!e.written || e.skipped_step) return list;
  const double share = e.cast_count > 0
                           ? static_cast<double>(e.cast_flushed) / static_cast<double>(e.cast_count)
                       : e.local != nullptr && e.own->count > 0
                           ? static_cast<double>(e.local->flushed) / static_cast<double>(e.own->count)
                           : 0;
  const bool saturates = e.cast_count > 0 ? e.cast_overflowing > e.own->nonfinite()
                                          : e.local != nullptr && e.local->saturated > 0;
  const bool unchanged = e.unmoved || (e.local != nullptr && e.local->cause_hint == "lost-update");
  if (share > 0.1 || saturates || unchanged) {
    const char* id = unchanged          ? "ND189"
                     : saturates        ? (e.cast_headroom > 1 ? "ND188" : "ND199")
                     : e.cast_count > 0 ? "ND193"
                                        : "ND198";
    finding f = stated(id, {}, 0);
    f.evidence = numbers_of(e);
    f.evidence.emplace_back("share_flushed", share);
    list.push_back(std::move(f));
  }
  // Reads that are not finite, and results that do not show it: divided by, or cut at a maximum.
  if (!reads.clean && e.own->nonfinite() == 0 && e.kind != "mask" && e.kind != "embedding" &&
      e.own->count > 0 && !skips_masked(e)) {
    finding f = stated("ND197", {}, 0);
    if (!reads.nan) f.symptom = "overflow";
    f.evidence = numbers_of(e);
    list.push_back(std::move(f));
  }
  return list;
}

}  // namespace numdiff::analysis
