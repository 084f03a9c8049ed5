#pragma once
// A declared accumulator that explains its result, and yet lost most of what it was given.
#include "analysis/expect/axes.hpp"
#include "analysis/expect/kinds.hpp"
#include "analysis/expect/matmul.hpp"

namespace numdiff::analysis::expect {

// What an accumulator may lose and still be called rounding, of the sum of magnitudes.
inline constexpr double most_lost = 0.05;

// Of sums over these axes of the first read, divided by `divisor`.
void review_stagnation(const call& c, const reduction_axes& axes, double divisor, const expectation& honest,
                       judgement& j);

// Of a product.
void review_stagnation(const call& c, const product& p, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
