#pragma once
// A product of whole numbers that every format holds, with the time that its kernel took; the casts before it
// are recorded where it multiplies in E4M3.
#include <cstdint>

#include "numdiff/numdiff.hpp"

namespace reproduce {

// Microseconds; `casts` is split over both operands.
struct timed_product {
  std::int64_t size;  // of all three dimensions
  numdiff::dtype type;
  double product, casts = 0;
};

void record_timed(const timed_product& p);

}  // namespace reproduce
