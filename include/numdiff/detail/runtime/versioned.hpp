#pragma once
// Structs of older callers are shorter: what they lack is zero.
#include <cstdint>
#include <cstring>

namespace numdiff {
inline namespace v1 {
namespace detail {

// `given` as this runtime knows it; in `space` when it is of another size. A null pointer reads as zeros.
template <class T>
const T& versioned(const T* given, T& space) noexcept {
  if (given != nullptr && given->struct_size == sizeof(T)) return *given;
  std::memset(static_cast<void*>(&space), 0, sizeof space);
  if (given != nullptr) {
    std::memcpy(static_cast<void*>(&space), given,
                given->struct_size < sizeof(T) ? given->struct_size : sizeof(T));
  }
  return space;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
