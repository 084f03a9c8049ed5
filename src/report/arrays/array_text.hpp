#pragma once
// The report on two files of arrays, for people.
#include <string>

#include "analysis/arrays/array_comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// The whole report. Its last line is last_line().
std::string text(const analysis::array_comparison& c, const style& s);

// As for runs: the words up to the second colon are fixed.
std::string last_line(const analysis::array_comparison& c);

// Names of verdicts and kinds of structure as they are printed.
const char* name_of(analysis::arrays_verdict v) noexcept;
const char* name_of(analysis::structure_kind k) noexcept;

// "[3, 4]", "" for a scalar.
std::string index_text(const model::extents& index);

}  // namespace numdiff::report
