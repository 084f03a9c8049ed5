#pragma once
// Counters that the kernels of an op add to, in device memory; read when the op ends.
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/capture.hpp"
#include "numdiff/detail/runtime/device_memory.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline void* op_stream(const op_state& op) noexcept {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(op.row.stream));
}

// The same counters for all kernels of an op; null when there are none.
inline void* acquire_slots(op_state& op) noexcept {
  const numdiff_device_v1* device = registered_device().load(std::memory_order_acquire);
  locked guard(op.sending);
  if (op.slots == nullptr && device != nullptr) op.slots = device->slots_acquire(op_stream(op));
  return op.slots;
}

// One capture for each counter that was used.
inline void collect_slots(session_state& s, op_state& op) noexcept {
  const numdiff_device_v1* device = registered_device().load(std::memory_order_acquire);
  if (op.slots == nullptr || device == nullptr) return;
  constexpr int most = 16;
  numdiff_slot_v1 used[most];
  const int count = device->slots_collect(op.slots, op_stream(op), used, most);
  op.slots = nullptr;
  if (count < 0) return counters::add(s.counts().refused);
  for (int i = 0; i < count && i < most; ++i) capture_counts(s, op, used[i].name, used[i].counts);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
