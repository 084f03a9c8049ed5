#pragma once
// A collective of one group, and the faults that are tried on its outputs.
#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "analysis/expect/expectation.hpp"
#include "analysis/expect/grid.hpp"
#include "analysis/expect/replay.hpp"

namespace numdiff::analysis::expect {

// One collective: what every rank of its group brought and got.
struct group_call {
  std::span<const op_instance> ranks;
  collective_operation operation;
  numdiff::reduction reduction;
  grid wire;
  std::ptrdiff_t root;  // its place in the group, -1 none

  [[nodiscard]] const tensor& in(std::size_t r) const { return ranks[r].reads.front().value; }
  [[nodiscard]] const tensor& out(std::size_t r) const { return ranks[r].writes.front().value; }
  // Whether a rank gets a result: of a reduction to one rank only the root does.
  [[nodiscard]] bool gets(std::size_t r) const {
    return operation != collective_operation::reduce || root < 0 || static_cast<std::size_t>(root) == r;
  }
  // Of an average whose ranks bring a number of their own beside the data (elements, tokens).
  [[nodiscard]] bool weighted() const {
    return reduction == numdiff::reduction::average && std::ranges::all_of(ranks, [](const op_instance& op) {
             return op.reads.size() == 2 && op.reads[1].value.values.size() == 1 &&
                    op.reads[1].value.values[0] >= 0;
           });
  }
  [[nodiscard]] double weight(std::size_t r) const { return ranks[r].reads[1].value.values[0]; }
};

// The reduction of all inputs in a wire format.
[[nodiscard]] expectation reduced(const group_call& g, const grid& wire);

// These elements of an expectation.
[[nodiscard]] expectation part_of(const expectation& whole, const std::vector<std::size_t>& elements);

// (collective_faults.cpp) Hypotheses for the output of a rank, of which element i is element at[i] of the
// reduction.
void offer_faults(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at, expectation& e);
// The same for a broadcast.
void offer_kept(const group_call& g, std::size_t rank, expectation& e);

// Of an average: every result that became zero is one whose shares are zero in the wire format.
void try_lost_shares(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at,
                     const expectation& honest, judgement& j);

// Every stored value lies on the grid of a narrower format, up to the average's divisor, and the error is
// what that wire makes.
void try_narrower_wire(const group_call& g, std::size_t rank, const std::vector<std::size_t>& at,
                       const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
