#pragma once
// What a cast may have lost that weighs nothing in the distance of two runs.
#include <string_view>
#include <vector>

#include "analysis/comparer.hpp"

namespace numdiff::analysis {

// One clause for people, nullptr when there is nothing to suspect. `unequal`: the runs read other numbers.
const char* what_cast_may_lose(std::string_view kind, const merged_capture& reference,
                               const merged_capture& test, const std::vector<item>& all, bool unequal);

}  // namespace numdiff::analysis
