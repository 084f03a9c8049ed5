#pragma once
// Faults that an op of any kind may have: its own formula with one thing at another precision, or with one
// number left out.
#include <string_view>

#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {

// Adds to every expectation what the op would have written with its reads, its sums, its inner steps or its
// scalars rounded, with its result rounded on the way, with a factor left out or applied twice.
// `c` and the op behind it must outlive the expectations.
void offer_variants(const call& c, kind_function kind, expectations& e);

// Kinds whose results are sums of many addends.
[[nodiscard]] bool adds_up(std::string_view kind) noexcept;

}  // namespace numdiff::analysis::expect
