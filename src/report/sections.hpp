#pragma once
// The sections of the text report. Each begins with an empty line and a title, or is "" when there is
// nothing to say.
#include <string>
#include <string_view>

#include "analysis/comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// "\nTitle\n"
std::string title(const style& s, std::string_view words);
// "=", "~", "!", "?", "-": a verdict in a table.
const char* symbol(analysis::verdict v);
// "3 fwd": step and phase in a table.
std::string when(const analysis::place& p);
std::string run_line(const char* side, const analysis::run_summary& run, const style& s);
std::string other_roots(const analysis::diagnosis& c, const style& s);
std::string nonfinite(const analysis::diagnosis& c, const style& s);
std::string information_lost(const analysis::diagnosis& c, const style& s);
std::string worst_ops(const analysis::comparison& c, const style& s);
// What good runs said, where an envelope or a trusted run was given.
std::string good_runs(const analysis::comparison& c, const style& s);
std::string structure(const analysis::comparison& c, const style& s);
std::string explained(const analysis::comparison& c, const style& s);  // benign findings, by cause
std::string speed(const analysis::comparison& c, const style& s);
std::string totals(const analysis::comparison& c, const style& s);  // always there
std::string manifest(const analysis::comparison& c, const style& s);
std::string next_capture(const analysis::diagnosis& d, const style& s);
std::string notes(const analysis::diagnosis& c, const style& s);  // footnotes

}  // namespace numdiff::report
