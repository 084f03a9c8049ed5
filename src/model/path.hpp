#pragma once
// The path of a tensor within a rank: /step_3/mb_0/<scope>/<op>.<call>.<phase>/<role>.<name>. What has no
// value (step, micro-batch, scope, phase) is left out; a tensor outside any op is /<role>.<name>.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/run.hpp"

namespace numdiff::model {

const char* role_name(role r) noexcept;
const char* phase_name(phase p) noexcept;  // "" for none
const char* usage_name(usage u) noexcept;  // "" for none
const char* level_name(level l) noexcept;

// By row of rank.ops: the how-many-eth op of its name within (step, micro-batch, phase, scope), from 0.
std::vector<std::uint32_t> call_numbers(const rank_data& rank);

// Row of rank.ops with this seq, ops.size() when there is none.
std::size_t find_op(const rank_data& rank, std::uint64_t seq) noexcept;

std::string op_path(const rank_data& rank, const op_row& op, std::uint32_t call);
std::string tensor_path(const rank_data& rank, const capture_row& capture,
                        const std::vector<std::uint32_t>& calls);

// True when `pattern` (wildcards * and ?, * matches anything) matches all of `text`.
bool matches(std::string_view pattern, std::string_view text) noexcept;

}  // namespace numdiff::model
