#pragma once
// Which parts of two arrays' elements stand against each other.
#include <vector>

#include "analysis/arrays/array_comparison.hpp"
#include "analysis/arrays/tally.hpp"

namespace numdiff::analysis {

struct paired_parts {
  std::size_t reference = 0, test = 0;  // indices of the parts
};

struct paired_types {
  std::vector<paired_parts> pairs;  // whose values are compared
  std::vector<structure_difference> differences;
  std::vector<skipped_array> skipped;  // members that are not read
};

// Parts are paired by name. Numbers are compared with numbers whatever their types, and the types are a
// difference, which does not decide when a tolerance is set.
paired_types pair_types(const std::string& name, const model::array_info& reference,
                        const model::array_info& test, const tolerance& accepts);

}  // namespace numdiff::analysis
