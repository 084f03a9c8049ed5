#pragma once
// The answer of numdiff drift, for people and for programs (schema numdiff-drift/1).
#include <string>

#include "analysis/drift.hpp"
#include "report/style.hpp"

namespace numdiff::report {

std::string text(const analysis::drift_report& r, const style& s);
std::string json(const analysis::drift_report& r);

}  // namespace numdiff::report
