#pragma once
// Which non-finite values count.
#include <cstdint>
#include <string_view>

#include "analysis/local.hpp"
#include "analysis/merge.hpp"

namespace numdiff::analysis {

// Non-finite elements that its kind does not put there on purpose.
std::int64_t unwanted(std::string_view kind, const merged_capture& own, const merged_capture* partner);
// The same of what an op reads: -Inf is what a mask filled the places with that a softmax must not see.
std::int64_t unwanted_read(std::string_view kind, const merged_capture& own, const merged_capture* partner);

// All that is not finite in a result comes from what its op read. What a factor of zero should have hidden is
// made by the op that did not hide it.
bool only_passes_on(const judgement& j) noexcept;

// Both runs make the same non-finite values: no difference, only bad health.
bool same_nonfinite(const local_judgement* a, const local_judgement* b);

}  // namespace numdiff::analysis
