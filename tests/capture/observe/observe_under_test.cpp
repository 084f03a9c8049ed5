#include "numdiff/detail/runtime/observe.hpp"

namespace numdiff::detail {

bool observe_for_test(const observe_input& in, observation& out) noexcept;
bool observe_for_test(const observe_input& in, observation& out) noexcept {
  return observe(in, out);
}

}  // namespace numdiff::detail
