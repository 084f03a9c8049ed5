#pragma once
// Which ranks' parts of a tensor are off, and by how much.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/merge.hpp"
#include "analysis/one_change.hpp"
#include "analysis/shares.hpp"

namespace numdiff::analysis {

// Two elements that stand in each other's places; indices are row-major in the global tensor.
struct swapped_elements {
  std::int64_t first = -1, second = -1;
  std::int32_t first_rank = -1, second_rank = -1;  // world ranks
  std::int64_t pairs = 1;                          // that were swapped
};

struct located {
  enum class answer {
    unknown,
    some,  // `ranks`
    all,   // every rank that holds a part, alike
  };
  answer is = answer::unknown;
  bool held_in_one = false;  // unknown because the other run has one sketch for the parts of several ranks
  std::vector<std::int32_t> ranks;  // world ranks, ascending
  // Of their parts: |test - reference| / |reference|, and the factor where one explains the difference.
  double relative_l2 = std::numeric_limits<double>::quiet_NaN();
  double factor = std::numeric_limits<double>::quiet_NaN();
  std::optional<changed_element> element;  // the only one that differs
  std::optional<swapped_elements> swapped;
};

// One run's side of a tensor.
struct tensor_side {
  const run_index& run;
  const merged_capture& capture;
  placement_cache& placements;
};

// From digests and sketches. `named` is the side whose ranks are told; `limit` is the relative distance that
// needs no culprit. A rank is named when its part is off three times as far as any part that is not; or,
// where the other run has one sketch for the parts of several ranks, when the difference points where its own
// sketch does. An error of another form than a factor then has no rank.
located locate(const tensor_side& reference, const tensor_side& test, side named, double limit);

// What both runs hold of a tensor that some rank holds no part of: equal in one format, one rounding apart in
// two.
enum class held { nothing, agrees, differs };
held compare_held(const tensor_side& reference, const tensor_side& test);

// What NUMDIFF_SHARDS must say in the other run for its parts to be told apart: "tp=4", "" when nothing does.
std::string shards_of(const tensor_side& side);

// The same from values, element by element; also finds elements that were swapped. Nothing when a run kept
// no values.
std::optional<located> locate_by_values(const tensor_side& reference, const tensor_side& test, side named,
                                        double limit);

// The places that stand out: three times as far off as any other, and above the limit. Empty: none can be
// told from the others.
std::vector<std::size_t> standing_out(const std::vector<double>& distances, double limit);

}  // namespace numdiff::analysis
