#pragma once
// Updates of a state that its format cannot hold.
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// `from` is the state (or weight) before; what the op wrote of it is judged in `j`. A state that most of its
// nonzero steps leave as it was has lost them, although formats explain it.
void review_steps(const call& c, const operand& from, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
