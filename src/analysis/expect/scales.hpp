#pragma once
// Whether the scales of a quantised tensor fit what was quantised.
#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Adds evidence (scale_use: amax of a group over what its scale reaches, largest and smallest) and turns the
// answer to beyond when values are lost that a scale from their amax would keep.
void review_scales(const operand& source, const operand& quantised, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
