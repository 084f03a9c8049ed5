#pragma once
// One array of a comparison as lines of text.
#include <string>

#include "analysis/arrays/array_comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// How many elements differ, where they differ most, and how much in all.
std::string row_block(const analysis::array_row& row, const style& s);

// What there is to say of an array without differences: "3 NaN in both, 1 zero of the other sign".
std::string row_notes(const analysis::array_row& row);

}  // namespace numdiff::report
