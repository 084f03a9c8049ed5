#pragma once
// How a cast rounds and what it does past the largest finite value.
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/format.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

enum class overflow : std::uint8_t {
  usual,        // to_infinity for formats of 12 bits or more, to_maximum for narrower ones
  to_maximum,   // values past the maximum, and infinities, become the maximum (CUDA: SATFINITE)
  to_infinity,  // they become infinity, or NaN where there is none, or the maximum where there is neither
};

struct cast_rule {
  rounding round = rounding::nearest_even;  // unknown: nearest even
  overflow past = overflow::usual;
};

namespace detail {

NUMDIFF_HD constexpr bool saturates(const format& f, overflow past) noexcept {
  return past == overflow::to_maximum || (past == overflow::usual && f.bits < 12);
}

// Whether a magnitude is rounded up to its next code. `rest` are the `shift` (0 to 63) bits that do not
// fit, `odd` the last bit that does, `random` 64 uniform bits for stochastic rounding, P(up) = rest /
// 2^shift.
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr bool rounds_up(rounding mode, std::uint64_t rest, int shift,
                                                          bool odd, bool negative,
                                                          std::uint64_t random) noexcept {
  if (rest == 0) return false;
  switch (mode) {
    case rounding::toward_zero: return false;
    case rounding::up: return !negative;
    case rounding::stochastic: return (random >> (64 - shift)) < rest;
    case rounding::nearest_even:
    case rounding::unknown: break;
  }
  const std::uint64_t half = std::uint64_t{1} << (shift - 1);
  return rest > half || (rest == half && odd);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
