#pragma once
// Opt-in: device tensors in probes, and counters inside kernels. Include it in the files that use
// either; link the CUDA runtime.
//
//   NUMDIFF_OUTPUT(op, "y", numdiff::view(y, {M, N}).on(stream));
//
// A probe of device memory copies it to pinned memory in stream order and waits for the copy. On a
// stream that is being captured into a graph nothing is copied: the probe is refused and counted.
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "numdiff/abi.h"
#include "numdiff/cuda_counter.hpp"
#include "numdiff/device.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline bool stream_is_captured(cudaStream_t stream) noexcept {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  // The legacy stream may not even be asked while another one is captured.
  if (cudaStreamIsCapturing(stream, &status) != cudaSuccess) {
    cudaGetLastError();
    return true;
  }
  return status != cudaStreamCaptureStatusNone;
}

inline void* allocate_pinned(std::size_t bytes) noexcept {
  void* memory = nullptr;
  cudaStreamCaptureMode mode = cudaStreamCaptureModeRelaxed;
  cudaThreadExchangeStreamCaptureMode(&mode);
  const bool done = cudaHostAlloc(&memory, bytes, cudaHostAllocDefault) == cudaSuccess;
  cudaThreadExchangeStreamCaptureMode(&mode);
  if (done) return memory;
  cudaGetLastError();
  return nullptr;
}

inline void release_pinned(void* memory, std::size_t /*bytes*/) noexcept {
  if (cudaFreeHost(memory) != cudaSuccess) cudaGetLastError();
}

inline int fetch_from_device(void* host, const void* device, std::size_t bytes, void* stream) noexcept {
  const auto s = static_cast<cudaStream_t>(stream);
  if (stream_is_captured(s)) return 1;
  if (cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, s) == cudaSuccess &&
      cudaStreamSynchronize(s) == cudaSuccess) {
    return 0;
  }
  cudaGetLastError();
  return 1;
}

inline void* acquire_device_slots(void* stream) noexcept {
  const auto s = static_cast<cudaStream_t>(stream);
  void* memory = nullptr;
  if (stream_is_captured(s)) return nullptr;
  if (cudaMalloc(&memory, device_slot_count * sizeof(device_slot)) == cudaSuccess &&
      cudaMemsetAsync(memory, 0, device_slot_count * sizeof(device_slot), s) == cudaSuccess) {
    return memory;
  }
  cudaGetLastError();
  if (memory != nullptr) cudaFree(memory);
  return nullptr;
}

inline int collect_device_slots(void* slots, void* stream, numdiff_slot_v1* out, int room) noexcept {
  device_slot copy[device_slot_count];
  int used = -1;
  if (fetch_from_device(copy, slots, sizeof copy, stream) == 0) {
    used = 0;
    for (const device_slot& slot : copy) {
      if (slot.key == 0 || used == room) continue;
      numdiff_slot_v1& to = out[used++];
      std::memset(&to, 0, sizeof to);
      std::memcpy(to.name, slot.name, sizeof to.name - 1);
      to.counts.struct_size = sizeof to.counts;
      to.counts.dtype = slot.dtype;
      to.counts.source_dtype = static_cast<std::uint16_t>(dtype::f32);
      to.counts.count = static_cast<std::int64_t>(slot.count);
      to.counts.beyond_maximum = static_cast<std::int64_t>(slot.beyond_maximum);
      to.counts.overflowing = static_cast<std::int64_t>(slot.overflowing);
      to.counts.flushed = static_cast<std::int64_t>(slot.flushed);
      to.counts.subnormal = static_cast<std::int64_t>(slot.subnormal);
      to.counts.nan = static_cast<std::int64_t>(slot.nan);
      to.counts.infinite = static_cast<std::int64_t>(slot.infinite);
      to.counts.amax = double_of(slot.amax_bits);
      to.counts.sum_sq = slot.sum_sq;
    }
  }
  if (cudaFree(slots) != cudaSuccess) cudaGetLastError();
  return used;
}

// Registers these functions once, before main() or when the library that includes this is loaded.
struct device_registration {
  device_registration() noexcept {
    static const numdiff_device_v1 functions = {
        sizeof functions,    static_cast<std::uint32_t>(memory_space::cuda),
        allocate_pinned,     release_pinned,
        fetch_from_device,   acquire_device_slots,
        collect_device_slots};
    numdiff_v1_register_device(&functions);
  }
};
inline const device_registration registered_at_start;

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
