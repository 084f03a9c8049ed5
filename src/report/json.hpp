#pragma once
// The report for programs: schema numdiff-report/1 (docs/report.schema.json), only ever extended.
#include <string>

#include "analysis/check.hpp"
#include "analysis/comparison.hpp"

namespace numdiff::report {

// One JSON object, indented by two, ending with a newline. Numbers that do not apply are null; numbers
// that are not finite are the strings "NaN", "Infinity" and "-Infinity".
std::string json(const analysis::comparison& c);
std::string json(const analysis::checkup& c);

}  // namespace numdiff::report
