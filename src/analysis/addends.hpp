#pragma once
// Unequal replicas that are addends of what they should hold.
#include "analysis/values.hpp"

namespace numdiff::analysis {

// What the replicas of a capture make of the other run's tensor.
enum class addends {
  none,
  sum,   // the other run holds their sum
  mean,  // the other run holds their mean
};

struct addends_result {
  analysis::addends found = addends::none;
  double residual = 0;  // |combination - whole| over the distance of the nearest replica from the whole
};

// Reads every distinct replica of `capture`; `whole` is the other run's tensor. Rounding and inherited
// errors may stand between them: a combination counts when it is 20 times nearer than any replica alone.
addends_result add_up_to(const run_index& run, const logical_capture& capture, value_reader& whole);

// The same from sketches, which add up like values.
addends_result add_up_to(const run_index& run, const logical_capture& capture, const run_index& other,
                         const merged_capture& whole);

}  // namespace numdiff::analysis
