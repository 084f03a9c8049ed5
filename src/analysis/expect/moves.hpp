#pragma once
// Collectives that bring numbers to other ranks: where each element of a result comes from.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "analysis/expect/collective.hpp"

namespace numdiff::analysis::expect {

// An element of what a rank of the group brought.
struct origin {
  std::uint32_t rank, read;
  std::size_t at;
};

// Of every element of a write, by the places in the whole tensor that reads and writes tell; of an all-gather
// whose tensors do not tell them, and of one rank that sends, by the order of the ranks. Throws cannot_replay
// where neither says it.
[[nodiscard]] std::vector<origin> origins_of(const group_call& g, std::size_t rank, std::size_t write);

// Of a reduce-scatter: for every element of the rank's output, the element of the inputs that it is the sum
// of.
[[nodiscard]] std::vector<std::size_t> scattered_to(const group_call& g, std::size_t rank);

// One judgement for every tensor that a rank got from others.
[[nodiscard]] std::vector<judgement> judge_moves(const group_call& g);

}  // namespace numdiff::analysis::expect
