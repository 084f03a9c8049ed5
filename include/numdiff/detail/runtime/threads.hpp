#pragma once
// Small numbers for threads, from 1 in the order in which they were seen.
#include <atomic>
#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

inline std::uint32_t thread_number() noexcept {
  static std::atomic<std::uint32_t> seen{0};
  static thread_local const std::uint32_t number = seen.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
