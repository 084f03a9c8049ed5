#pragma once
// The report for people: where the runs part, then what and why, then how much was compared.
#include <string>

#include "analysis/comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// The whole report. Its last line is last_line().
std::string text(const analysis::comparison& c, const style& s);

// "numdiff: agree: ...", "numdiff: differ: ..." or "numdiff: incomplete: ...", without a newline. The
// words up to the second colon are fixed; scripts may rely on them.
std::string last_line(const analysis::comparison& c);

}  // namespace numdiff::report
