#pragma once
// How far honest sums are off where the rms model of random errors does not say so: numbers of few values
// round alike again and again, an addend that dwarfs all others swallows them when it comes first, a mean
// that is off by a rounding leaves a variance in a row of one number.
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Computes the op in its own arithmetic in several orders in which kernels add, and widens the expectation of
// what it writes to twice what the worst of them is off by. False when nothing was widened: the kind does not
// add up, its accumulator is narrow, the op is too large, or the model covers all orders.
// `c` is the op as declared.
[[nodiscard]] bool widen_to_orders(const call& c, kind_function kind, std::size_t write, expectation& e);

}  // namespace numdiff::analysis::expect
