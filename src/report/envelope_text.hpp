#pragma once
// What numdiff envelope says about the runs that it measured.
#include <string>

#include "analysis/envelope.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// Ends with a line that begins with "numdiff: envelope: ".
std::string text(const analysis::measured_envelope& e, const style& s);

}  // namespace numdiff::report
