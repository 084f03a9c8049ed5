#pragma once
// Bringing device tensors to the host, through functions that numdiff/cuda.hpp registers.
#include <atomic>
#include <cstdint>
#include <cstring>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/describe_scaling.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline std::atomic<const numdiff_device_v1*>& registered_device() noexcept {
  static std::atomic<const numdiff_device_v1*> device{nullptr};
  return device;
}

// The host copies of one capture; the memory is kept for the next.
class host_copies {
 public:
  host_copies() noexcept = default;
  host_copies(const host_copies&) = delete;
  host_copies& operator=(const host_copies&) = delete;
  // The device's library may be gone when a thread ends: its memory is left to it.
  ~host_copies() = default;

  void clear() noexcept { used_ = 0; }

  // Makes a view of device memory one of host memory. False when it cannot be read now.
  bool bring(numdiff_view_v1& v) noexcept {
    if (v.memory == static_cast<std::uint16_t>(memory_space::cuda)) {
      std::int64_t first = 0, last = 0;
      if (v.rank > numdiff_max_rank || !span_of(v, first, last)) return false;
      const auto width = static_cast<std::int64_t>(bytes_of(static_cast<dtype>(v.dtype)));
      const bool packed = (v.flags & numdiff_view_packed) != 0;
      if (packed && first != 0) return false;
      const std::int64_t bytes = packed ? (last - first + 1) / 2 : (last - first) * width;
      if (bytes > 0) {
        const void* host = fetch(static_cast<const unsigned char*>(v.data) + first * width, bytes, v.stream);
        if (host == nullptr) return false;
        v.data = static_cast<const unsigned char*>(host) - first * width;
      }
      if (!bring_masks(v)) return false;
    }
    return bring_scales(v);
  }

 private:
  static constexpr std::size_t most = 8;

  // Elements [first, last) around the pointer that the view reaches.
  static bool span_of(const numdiff_view_v1& v, std::int64_t& first, std::int64_t& last) noexcept {
    last = 1;
    for (std::uint32_t d = 0; d < v.rank; ++d) {
      if (v.extent[d] <= 0) {
        first = last = 0;
        return v.extent[d] == 0;
      }
      std::int64_t reach = 0;
      if (__builtin_mul_overflow(v.extent[d] - 1, v.stride[d], &reach)) return false;
      std::int64_t& end = reach < 0 ? first : last;
      if (__builtin_add_overflow(end, reach, &end)) return false;
    }
    return last - first < INT64_MAX / 32;
  }

  bool bring_masks(numdiff_view_v1& v) noexcept {
    std::int64_t count = 1;
    for (std::uint32_t d = 0; d < v.rank; ++d) count *= v.extent[d];
    if (v.visible != nullptr && count > 0) {
      v.visible = static_cast<const unsigned char*>(fetch(v.visible, count, v.stream));
      if (v.visible == nullptr) return false;
    }
    if (v.visible_lengths != nullptr && v.rank > 0 && v.extent[0] > 0) {
      v.visible_lengths =
          static_cast<const std::int64_t*>(fetch(v.visible_lengths, v.extent[0] * 8, v.stream));
      if (v.visible_lengths == nullptr) return false;
    }
    return true;
  }

  bool bring_scales(numdiff_view_v1& v) noexcept {
    numdiff_scaling_v1& s = v.scaling;
    if (s.granularity == 0 || s.memory != static_cast<std::uint16_t>(memory_space::cuda)) return true;
    view_scales grid;
    if (!find_grid(v, grid)) return false;
    if (s.scales != nullptr && grid.count > 0) {
      s.scales = fetch(s.scales, scale_bytes(v, grid), v.stream);
      if (s.scales == nullptr) return false;
    }
    if (s.zero_points != nullptr && grid.count > 0) {
      const auto width = static_cast<std::int64_t>(bytes_of(static_cast<dtype>(s.zero_point_dtype)));
      s.zero_points = fetch(s.zero_points, grid.count * width, v.stream);
      if (s.zero_points == nullptr) return false;
    }
    return true;
  }

  const void* fetch(const void* device_memory, std::int64_t bytes, void* stream) noexcept {
    const numdiff_device_v1* device = registered_device().load(std::memory_order_acquire);
    if (device == nullptr || used_ == most || bytes <= 0) return nullptr;
    const auto size = static_cast<std::size_t>(bytes);
    staging& place = places_[used_];
    if (place.bytes < size) {
      if (place.memory != nullptr) device->release(place.memory, place.bytes);
      place.bytes = 0;
      place.memory = device->allocate(size);
      if (place.memory == nullptr) return nullptr;
      place.bytes = size;
    }
    if (device->fetch(place.memory, device_memory, size, stream) != 0) return nullptr;
    ++used_;
    return place.memory;
  }

  struct staging {
    void* memory = nullptr;
    std::size_t bytes = 0;
  };
  staging places_[most];
  std::size_t used_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
