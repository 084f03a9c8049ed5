#pragma once
// What a sum or difference shows beyond its rounding: masks that leave the range, states that stay, numbers
// that cancel.
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// For `add` and `subtract`, after they were judged.
void review_sum(const call& c, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
