#pragma once
// Collectives that bring the rows of several ranks together, and sums of them apart again: each rank has
// other tokens of one tensor [tokens, width]. Messages go directly between every two ranks.
#include <string>
#include <vector>

#include "ops.hpp"

namespace minigpt {

// Who holds which rows, by place in a group, and where all of them lie when they are together.
struct row_owners {
  const group& ranks;
  std::vector<rows_ptr> parts;
  placement part, whole;
};
// Of the residual stream over tp, for the rows that products read.
row_owners residual_owners(const engine& e);
// Of keys and values over cp, for all positions.
row_owners context_owners(const engine& e);

// The rows of all ranks, in the order of the tokens. A group of one does nothing. The fault reverses the
// parts.
tensor all_gather_rows(const engine& e, const row_owners& who, const std::string& name, tensor x,
                       carries factors, bool wrong_order = false);
// This rank's rows of the sum over ranks that hold addends of all rows.
tensor reduce_scatter_rows(const engine& e, const row_owners& who, const std::string& name, tensor x,
                           carries factors);

}  // namespace minigpt
