#pragma once
// The values of two arrays of one shape, read side by side.
#include <functional>
#include <memory>
#include <vector>

#include "analysis/arrays/array_comparison.hpp"
#include "analysis/arrays/pair_types.hpp"

namespace numdiff::analysis {

using stream_maker = std::function<std::unique_ptr<model::array_stream>()>;

struct value_pair {
  const model::array_info& reference;
  const model::array_info& test;
  stream_maker open_reference, open_test;
};

// One row for each pair of parts, without names. Nothing, with the reason in `skipped`, when the values need
// more memory than there may be. Exceptions of the readers pass through.
std::vector<array_row> compare_values(const value_pair& arrays, const std::vector<paired_parts>& parts,
                                      const tolerance& accepts, std::string& skipped);

}  // namespace numdiff::analysis
