#pragma once
// Why lower precision brought no speed: from the times that ops were told.
#include <vector>

#include "analysis/align.hpp"
#include "analysis/comparer.hpp"

namespace numdiff::analysis {

// One finding for each op (layers and steps together) that multiplies in fewer bits in one of the two runs
// and, with the casts and scales made for it, takes no less time there. The time of an op is its scalar
// `seconds`, of the slowest rank; ops without one are left out. All findings are benign: a slow run is not a
// wrong one.
std::vector<finding> slow_products(const judged_run& reference, const judged_run& test,
                                   const std::vector<op_pair>& pairs);

}  // namespace numdiff::analysis
