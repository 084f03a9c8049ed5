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
  // Of an average whose ranks bring a number of their own beside the data (elements, tokens).
  [[nodiscard]] bool weighted() const {
    return reduction == numdiff::reduction::average && std::ranges::all_of(ranks, [](const op_instance& op) {
             return op.reads.size() == 2 && op.reads[1].value.values.size() == 1 &&
                    op.reads[1].value.values[0] >= 0;
           });
  }
  [[nodiscard]] double weight(std::size_t r) const { return ranks[r].reads[1].value.values[0]; }
};

// Where the inputs of the ranks lie in a gathered output: one behind the other along the dimension that grew.
struct pieces {
  std::size_t outer = 1, inner = 1, ranks = 1;

  [[nodiscard]] std::size_t begin(std::size_t o, std::size_t slot) const {
    return (o * ranks + slot) * inner;
  }
  void put(std::vector<double>& whole, std::size_t slot, const std::vector<double>& part) const {
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) whole[begin(o, slot) + i] = part[o * inner + i];
    }
  }
  [[nodiscard]] bool holds(const std::vector<double>& whole, std::size_t slot,
                           const std::vector<double>& part) const {
    for (std::size_t o = 0; o < outer; ++o) {
      for (std::size_t i = 0; i < inner; ++i) {
        if (whole[begin(o, slot) + i] != part[o * inner + i]) return false;
      }
    }
    return true;
  }
};

// Throws cannot_replay when the ranks contribute different counts.
[[nodiscard]] pieces pieces_of(const group_call& g);

// The reduction of all inputs in a wire format.
[[nodiscard]] expectation reduced(const group_call& g, const grid& wire);

// Elements [first, first + count) of an expectation.
[[nodiscard]] expectation part_of(const expectation& whole, std::size_t first, std::size_t count);

// (collective_faults.cpp) Hypotheses for the output of a rank, which is `first` elements into the reduction.
void offer_faults(const group_call& g, std::size_t rank, std::size_t first, expectation& e);
// The same for data that only move.
void offer_misplaced(const group_call& g, std::size_t rank, expectation& e);

// Of an average: every result that became zero is one whose shares are zero in the wire format.
void try_lost_shares(const group_call& g, std::size_t rank, std::size_t first, const expectation& honest,
                     judgement& j);

// Every stored value lies on the grid of a narrower format, up to the average's divisor, and the error is
// what that wire makes.
void try_narrower_wire(const group_call& g, std::size_t rank, std::size_t first, const expectation& honest,
                       judgement& j);

}  // namespace numdiff::analysis::expect
