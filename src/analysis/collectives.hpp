#pragma once
// What must hold of a collective whatever the precision, from records and statistics: no values are needed.
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "analysis/index.hpp"
#include "analysis/invariants.hpp"

namespace numdiff::analysis {

// The ranks of one op that call one collective together.
struct collective_group {
  std::vector<std::int32_t> ranks;  // world ranks in group order, all that the record names
  std::vector<member> members;      // those that are there
  const model::collective_row* row = nullptr;
};

// Empty when a rank kept no record of the collective.
std::vector<collective_group> groups_of(const run_index& run, const logical_op& op);

// All ranks of a group take part, with one operation, count, reduction and wire format. A rank whose file is
// missing, that was cut off, or that dropped ops, breaks nothing.
std::optional<invariant> broken_group(const run_index& run, const logical_op& op);

// What a reduction wrote is the sum (or mean) of what the ranks of its group brought, what a gather wrote is
// all of it: by sketches and digests, which add up. Within what each hop of any order may round in the wire
// format: ring, tree and hierarchies, divided before or after the sum.
std::optional<invariant> broken_result(const judged_run& run, const seen_capture& x,
                                       std::span<const seen_capture> all);

// The first world rank whose result differs, bit for bit, from that of the first rank of its group, though
// the collective gives all of them the same; -1 none.
std::int32_t unequal_result(const run_index& run, const logical_op& op, const logical_capture& written);

}  // namespace numdiff::analysis
