#pragma once
// Places of a capture that its view hid: their codes are stored as zero, only their number is told.
#include <cstdint>
#include <vector>

#include "analysis/expect/replay.hpp"

namespace numdiff::analysis::expect {

[[nodiscard]] bool hides(const operand& x) noexcept;

// 1 for every element whose code is zero: all hidden ones, and visible ones that are +0.
[[nodiscard]] std::vector<std::uint8_t> zero_coded(const operand& x);

// Which elements of `x` are hidden, where no visible element has code zero. Empty: none. Throws cannot_replay
// when the count does not decide.
[[nodiscard]] std::vector<std::uint8_t> hidden_by_code(const operand& x);

// Which elements of `x` are hidden, when an op wrote `result` of the same size from it and a hidden element
// gives 0 or NaN there. Empty: none. Throws cannot_replay when the count does not decide.
[[nodiscard]] std::vector<std::uint8_t> hidden_places(const operand& x, const tensor& result);

}  // namespace numdiff::analysis::expect
