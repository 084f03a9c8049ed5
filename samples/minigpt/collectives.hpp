#pragma once
// Collectives from point-to-point messages. Values travel in the wire format of the run, and every sum is
// rounded to it, as NCCL's ring and tree do.
#include <string>

#include "ops.hpp"

namespace minigpt {

// What a fault does to one all-reduce.
enum class reduce_fault { none, bf16_wire, missing, duplicate, average };
reduce_fault reduce_fault_here(const engine& e);

// Sums the parts of a group: x is partial over its axis, the result replicated. A group of one does nothing.
tensor all_reduce(const engine& e, const group& g, const std::string& name, tensor x, carries factors,
                  reduce_fault fault = reduce_fault::none);

// The sum over tp of what a row-parallel product made, as the residual stream needs it; and its counterpart,
// the rows that column-parallel products read. With sequence parallelism a reduce-scatter and an all-gather,
// otherwise an all-reduce, and nothing.
tensor to_residual(const engine& e, const std::string& name, tensor x, carries factors,
                   reduce_fault fault = reduce_fault::none);
tensor from_residual(const engine& e, const std::string& name, tensor x, carries factors);

// The mean over ranks that weigh differently, replicated.
tensor all_reduce_mean(const engine& e, const group& g, const std::string& name, tensor x,
                       std::int64_t weight);

}  // namespace minigpt
