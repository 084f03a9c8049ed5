#pragma once
// One order of the ops of all ranks in which nothing stands before what it depends on.
#include <cstdint>
#include <utility>
#include <vector>

namespace numdiff::analysis {

struct program_orders {
  std::uint32_t ops = 0;
  std::vector<std::vector<std::uint32_t>> ranks;  // by rank: its ops in program order
  // Ops that one collective joins although ranks name them differently: none ends before all ranks reached
  // it.
  std::vector<std::vector<std::uint32_t>> meetings;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> messages;  // the op that sends, the op that receives
  // By op: where it stands in a run that knows the order of all, -1: not told. Decides where ranks leave it
  // open.
  std::vector<std::int64_t> like;
};

// Every op once. Where program orders contradict each other (two ranks meet at two ops in other orders), the
// op that was numbered first goes first. Linear in ops and ranks, up to the logarithm of a queue.
std::vector<std::uint32_t> in_order(const program_orders& all);

}  // namespace numdiff::analysis
