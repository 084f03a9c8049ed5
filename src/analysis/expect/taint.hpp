#pragma once
// Whether what is wrong with an output is what hidden elements of its inputs reach.
#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Of an output beyond its expectation without a cause: names padding when the elements that depend on it are
// wrong, and the others are not.
void blame_padding(const op_instance& op, kind_function kind, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
