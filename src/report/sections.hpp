#pragma once
// The sections of the text report. Each begins with an empty line and a title, or is "" when there is
// nothing to say.
#include <string>

#include "analysis/comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

std::string run_line(const char* side, const analysis::run_summary& run, const style& s);
std::string other_roots(const analysis::comparison& c, const style& s);
std::string nonfinite(const analysis::comparison& c, const style& s);
std::string information_lost(const analysis::comparison& c, const style& s);
std::string worst_ops(const analysis::comparison& c, const style& s);
std::string structure(const analysis::comparison& c, const style& s);
std::string explained(const analysis::comparison& c, const style& s);  // benign findings, by cause
std::string speed(const analysis::comparison& c, const style& s);
std::string totals(const analysis::comparison& c, const style& s);  // always there
std::string manifest(const analysis::comparison& c, const style& s);
std::string notes(const analysis::comparison& c, const style& s);  // footnotes

}  // namespace numdiff::report
