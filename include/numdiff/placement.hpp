#pragma once
// Where a rank's part of a tensor lies in the global tensor. Views carry it; see view.hpp for the
// calls: .shard("tp", 1), .replicated("dp"), .partial("tp", reduction::sum), .box, .ranges, .flat, .ids; and
// ranges.hpp for common ranges.
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

// A run of elements, row-major: `length` from local_begin lie at global_begin of the global tensor.
struct segment {
  std::int64_t global_begin, local_begin, length;
};
static_assert(sizeof(segment) == sizeof(numdiff_segment_v1));

// The spread of a tensor whose ranks hold terms of a reduction that was not done yet.
constexpr spread partial_spread(reduction r) noexcept {
  switch (r) {
    case reduction::sum: return spread::partial_sum;
    case reduction::average: return spread::partial_average;
    case reduction::max: return spread::partial_max;
    case reduction::min: return spread::partial_min;
    case reduction::none: break;
  }
  return spread::unknown;
}

}  // namespace v1
}  // namespace numdiff
