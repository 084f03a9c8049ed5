#pragma once
// The verdict on one run as text for people.
#include <string>

#include "analysis/check.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// Ends with one fixed line that begins with "numdiff: healthy: ", "numdiff: fault: " or "numdiff: incomplete:
// ".
std::string text(const analysis::checkup& c, const style& s);

std::string last_line(const analysis::checkup& c);

}  // namespace numdiff::report
