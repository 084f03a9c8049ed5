#pragma once
// What answers about one run and about two share: summaries, what files lack, the table of the worst.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/index.hpp"

namespace numdiff::analysis {

// "1 capture", "2 captures"
std::string plural(std::uint64_t n, std::string_view what);

run_summary summary_of(const run_index& run);
run_summary summary_of(const model::run& run);

// Adds to `result` why the run called `name` is not whole, and what its reader warned of. Returns the number
// of captures that were dropped.
std::uint64_t note_missing(const run_index& run, const std::string& name, diagnosis& result);

// The worst rows first, and no more than `limit` of them.
void keep_worst(std::vector<table_row>& rows, std::size_t limit);

}  // namespace numdiff::analysis
