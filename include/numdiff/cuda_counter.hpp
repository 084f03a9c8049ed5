#pragma once
// Counters inside kernels, for values that never reach memory.
//
//   __global__ void gemm(... NUMDIFF_KERNEL_PARAM(op)) {
//     NUMDIFF_DEVICE_COUNTER(c, op, "y8", numdiff::dtype::f8e4m3fn);
//     for (...) { c.before_cast(v * encode); y[i] = cast(v * encode); }
//     c.commit();
//   }
//
// Each thread counts in registers; commit() adds them up with atomics, once.
#include <cstdint>

#include "numdiff/cast_counter.hpp"
#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/device.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// In device memory, zeroed: the counter of one name.
struct device_slot {
  unsigned long long key;  // hash of the name, 0 free
  char name[32];
  std::uint16_t dtype;
  unsigned long long count, beyond_maximum, overflowing, flushed, subnormal, nan, infinite;
  unsigned long long amax_bits;  // bits of a double, which order as the magnitudes do
  double sum_sq;
};
inline constexpr int device_slot_count = 16;

}  // namespace detail

#if defined(__CUDACC__)
class device_counter {
 public:
  // A counter of the 17th name of an op counts nothing.
  __device__ device_counter(const device_op& op, const char* name,
                            dtype destination = dtype::f8e4m3fn) noexcept
      : counter_(destination), name_(name), slots_(static_cast<detail::device_slot*>(op.slots)) {}

  // `value` is what the cast gets. Further arguments (a tile, a lane) are for the reader.
  template <class... Where>
  __device__ void before_cast(float value, Where... /*unused*/) noexcept {
    if (slots_ != nullptr) counter_.before_cast(static_cast<double>(value));
  }

  __device__ void commit() noexcept {
    if (slots_ == nullptr) return;
    detail::device_slot* slot = find();
    if (slot == nullptr) return;
    const numdiff_counts_v1& c = counter_.raw();
    add(&slot->count, c.count);
    add(&slot->beyond_maximum, c.beyond_maximum);
    add(&slot->overflowing, c.overflowing);
    add(&slot->flushed, c.flushed);
    add(&slot->subnormal, c.subnormal);
    add(&slot->nan, c.nan);
    add(&slot->infinite, c.infinite);
    atomicMax(&slot->amax_bits, static_cast<unsigned long long>(detail::bits_of(c.amax)));
    atomicAdd(&slot->sum_sq, c.sum_sq);
    slots_ = nullptr;
  }

 private:
  static __device__ void add(unsigned long long* to, std::int64_t n) noexcept {
    if (n != 0) atomicAdd(to, static_cast<unsigned long long>(n));
  }

  __device__ detail::device_slot* find() const noexcept {
    unsigned long long key = 1469598103934665603ULL;
    for (const char* c = name_; *c != '\0'; ++c)
      key = (key ^ static_cast<unsigned char>(*c)) * 1099511628211ULL;
    if (key == 0) key = 1;
    for (int i = 0; i < detail::device_slot_count; ++i) {
      detail::device_slot* slot =
          slots_ + (key + static_cast<unsigned long long>(i)) % detail::device_slot_count;
      const unsigned long long owner = atomicCAS(&slot->key, 0ULL, key);
      if (owner == 0) {
        for (int k = 0; k < 31 && name_[k] != '\0'; ++k) slot->name[k] = name_[k];
        slot->dtype = counter_.raw().dtype;
      }
      if (owner == 0 || owner == key) return slot;
    }
    return nullptr;
  }

  cast_counter counter_;
  const char* name_;
  detail::device_slot* slots_;
};
#endif

}  // namespace v1
}  // namespace numdiff
