#pragma once
// Places and findings as lines of text.
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "report/style.hpp"

namespace numdiff::report {

// "step 3, micro-batch 0, backward", "" when nothing is known.
std::string context_text(const analysis::place& p);
// "0-3, 6"
std::string ranks_text(const std::vector<std::int32_t>& ranks);
// Scope, op, call and tensor; "(the whole run)" when the place names none of them.
std::string where_text(const analysis::place& p);

// "decoder / fc : y (step 3): narrow-accumulator"
std::string place_and_cause(const analysis::finding& f);

// A block of lines: place, context, symptom, cause, evidence, control.
std::string finding_block(const analysis::finding& f, const style& s);
// The command that tells what its rule means.
std::string explain_line(const analysis::finding& f, const style& s);
// A short form for lists: place and context, then the cause; it stands for `times` findings.
std::string finding_line(const analysis::finding& f, std::size_t times, const style& s);

}  // namespace numdiff::report
