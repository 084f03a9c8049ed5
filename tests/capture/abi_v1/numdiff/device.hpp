#pragma once
// What NUMDIFF_KERNEL_PARAM passes to a kernel. The counters themselves are in numdiff/cuda.hpp.
#include "numdiff/abi.h"
#include "numdiff/config.hpp"
#include "numdiff/op.hpp"

namespace numdiff {
inline namespace v1 {

// An op as a kernel sees it; passed by value.
struct device_op {
  void* slots;  // of the counters, device memory; null when nothing is recorded

  [[nodiscard]] static device_op of(const op& o) noexcept {
    return {o.recording() ? numdiff_v1_device_slots(o.handle()) : nullptr};
  }
};

namespace detail {

// The counter of a kernel whose probes are compiled out.
struct disabled_counter {
  template <class... Arguments>
  NUMDIFF_HD constexpr void before_cast(Arguments&&... /*unused*/) const noexcept {}
  NUMDIFF_HD constexpr void commit() const noexcept {}
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
