#pragma once
// One element that changed, found from the digests of two tensors alone.
#include <array>
#include <cstdint>
#include <optional>

#include "numdiff/dtype.hpp"

namespace numdiff::analysis {

struct changed_element {
  std::int64_t index = -1;  // row-major in the global tensor; of complex tensors of its number
  int bit = -1;             // the codes differ by 2^bit, as by one flipped bit; -1 by something else
};

// The digests of two tensors of `count` numbers differ by `difference` (test minus reference). When exactly
// one number changed, in either 32-bit half of its code, it is this one: a chance fit has a probability of
// 2^-60 for a tensor of 2^28. Nothing when more changed, or in larger tensors. Linear in `count`.
std::optional<changed_element> one_change(const std::array<std::uint64_t, 2>& difference, std::int64_t count,
                                          dtype type);

}  // namespace numdiff::analysis
