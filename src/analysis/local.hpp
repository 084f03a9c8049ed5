#pragma once
// Judges one op of one run by its own stored inputs, rank by rank; collectives by their whole group.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/expect/replay.hpp"
#include "analysis/index.hpp"

namespace numdiff::analysis {

// What replay says about one logical capture that the op wrote: the worst of its ranks.
struct local_judgement {
  std::int32_t capture = -1;  // index into run_index::captures()
  judgement worst;
  std::vector<std::int32_t> ranks;  // world ranks that are beyond; empty when none is
  std::int32_t judged_ranks = 0;
};

// Why an op is not judged that level tensors would have recorded.
inline constexpr const char* values_not_stored = "values not stored";

struct local_result {
  bool done = false;
  std::string why_not;
  std::vector<local_judgement> outputs;
};

// World ranks of a collective's group, in its order; all of the world where the record lists none.
std::vector<std::int32_t> group_ranks(const model::rank_data& rank, const model::collective_row& row,
                                      std::int32_t world);

// The op as one rank stored it, its tensors decoded.
struct stored_op {
  op_instance op;
  std::vector<std::int32_t> reads, writes;  // logical captures, by index of op.reads and op.writes
  std::int32_t world_rank = 0;
  std::string why_not;  // set when a tensor is not stored or cannot be decoded
};
stored_op stored(const run_index& run, const logical_op& op, const member& where);

// Adds the judgement of one rank's write to what is known of its capture: the worst rank counts.
void take_judgement(local_result& result, const stored_op& one, judgement j);

local_result judge_locally(const run_index& run, const logical_op& op);

}  // namespace numdiff::analysis
