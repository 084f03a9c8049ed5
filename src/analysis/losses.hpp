#pragma once
// What an op made non-finite, lost or hid, though the op itself may be honest.
#include <vector>

#include "analysis/rules.hpp"

namespace numdiff::analysis {

// The non-finite values among what an op read.
struct reads_health {
  bool clean = true;  // no NaN and no +Inf; -Inf is what masks are filled with
  bool nan = false;

  void add(const merged_capture& read) {
    clean = clean && read.nan + read.positive_infinity == 0;
    nan = nan || read.nan > 0;
  }
};

// Of an op that makes non-finite values and fires no rule. Place, side and order are the caller's.
finding nonfinite_made(const evidence& e);

// Saturated, flushed, unchanged, and non-finite values that do not show in the result. Benign: whether they
// do harm is for the rules. Place, side and order are the caller's.
std::vector<finding> losses_of(const evidence& e, const reads_health& reads);

}  // namespace numdiff::analysis
