#pragma once
// What was taken and what was dropped in the newest session; any thread counts.
#include <atomic>
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/detail/message.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

#define NUMDIFF_DETAIL_COUNTERS(X) \
  X(ops)                           \
  X(captures)                      \
  X(events)                        \
  X(bytes)                         \
  X(dropped_ops)                   \
  X(dropped_captures)              \
  X(dropped_events)                \
  X(dropped_values)                \
  X(dropped_sketches)              \
  X(dropped_histograms)            \
  X(refused)

struct counters {
#define NUMDIFF_DETAIL_COUNTER(name) std::atomic<std::uint64_t> name{0};
  NUMDIFF_DETAIL_COUNTERS(NUMDIFF_DETAIL_COUNTER)
#undef NUMDIFF_DETAIL_COUNTER

  static void add(std::atomic<std::uint64_t>& counter, std::uint64_t n = 1) noexcept {
    counter.fetch_add(n, std::memory_order_relaxed);
  }
  void clear() noexcept {
#define NUMDIFF_DETAIL_CLEAR(name) name.store(0, std::memory_order_relaxed);
    NUMDIFF_DETAIL_COUNTERS(NUMDIFF_DETAIL_CLEAR)
#undef NUMDIFF_DETAIL_CLEAR
  }
  void fill(numdiff_statistics_v1& out) const noexcept {
#define NUMDIFF_DETAIL_FILL(name) out.name = name.load(std::memory_order_relaxed);
    NUMDIFF_DETAIL_COUNTERS(NUMDIFF_DETAIL_FILL)
#undef NUMDIFF_DETAIL_FILL
  }

  [[nodiscard]] drop_row dropped() const noexcept {
    drop_row d{};
    d.captures = dropped_captures.load(std::memory_order_relaxed);
    d.ops = dropped_ops.load(std::memory_order_relaxed);
    d.events = dropped_events.load(std::memory_order_relaxed);
    d.values = dropped_values.load(std::memory_order_relaxed);
    d.sketches = dropped_sketches.load(std::memory_order_relaxed);
    d.histograms = dropped_histograms.load(std::memory_order_relaxed);
    return d;
  }
  static std::uint64_t sum(const drop_row& d) noexcept {
    return d.captures + d.ops + d.events + d.values + d.sketches + d.histograms;
  }
  [[nodiscard]] std::uint64_t any_dropped() const noexcept {
    return sum(dropped());
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
