#pragma once
// Faults of a norm that its rows show, whatever the order in which their statistics were summed.
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Rows of the last dimension.
struct norm_rows {
  std::size_t count, length;
  explicit norm_rows(const tensor& x) : count(0), length(last_of(x.shape)) {
    count = length > 0 ? x.values.size() / length : 0;
  }
};

// Names an overflow of squares that hides in rows of zeros, or of the bias, where the norm is centred.
void review_overflow(const call& c, const expectation& honest, bool centred, judgement& j);

// Names a cancellation in the variance of a layer norm whose rows are off, or NaN, by no more than it makes.
void review_variances(const call& c, const expectation& honest, judgement& j);

}  // namespace numdiff::analysis::expect
