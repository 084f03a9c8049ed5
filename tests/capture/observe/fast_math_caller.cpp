// Compiled with -ffast-math.
#include "numdiff/detail/runtime/observe_input.hpp"

#ifndef __FAST_MATH__
#error "compile this file with -ffast-math"
#endif

namespace numdiff::detail {

bool observe_for_test(const observe_input& in, observation& out) noexcept;
bool observe_from_fast_math(const observe_input& in, observation& out) noexcept;

bool observe_from_fast_math(const observe_input& in, observation& out) noexcept {
  observe_input again = in;
  again.scaling.global = 1;
  return observe_for_test(again, out);
}

}  // namespace numdiff::detail
