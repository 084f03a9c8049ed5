#pragma once
// The report on two files of arrays, for programs: schema numdiff-arrays/1, docs/arrays.schema.json.
#include <string>

#include "analysis/arrays/array_comparison.hpp"

namespace numdiff::report {

std::string json(const analysis::array_comparison& c);

}  // namespace numdiff::report
