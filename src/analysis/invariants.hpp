#pragma once
// Rules that hold whatever the precision, checked on the statistics of captures: no values are needed.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace numdiff::analysis {

struct judged_run;
struct seen_capture;

// What was broken: one clause for people, the value, and the bound that it should keep.
struct invariant {
  std::string clause;
  double value = 0;
  double bound = 0;
  std::vector<std::int32_t> ranks = {};  // world ranks that break it; empty: not told
};

// Probabilities of a row add up to 1; squares, magnitudes, variances and second moments are not negative; a
// maximum occurs; an amax is that of its tensor; scales are positive; a sum over ranks is the sum of what
// they brought. Nothing when all hold, or when the statistics do not tell.
std::optional<invariant> broken_invariant(const judged_run& run, const seen_capture& x,
                                          std::span<const seen_capture> all);

}  // namespace numdiff::analysis
