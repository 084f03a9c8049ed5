#pragma once
// The run-time switch, and what probes become when they are compiled out.
#include "numdiff/abi.h"
#include "numdiff/config.hpp"

namespace numdiff {
inline namespace v1 {

// True while a session records, or will be opened by the environment. One relaxed load.
inline bool recording() noexcept {
  return __builtin_expect(__atomic_load_n(&numdiff_v1_active, __ATOMIC_RELAXED) != 0, 0);
}

namespace detail {

// Named by disabled probes and never called: their arguments are parsed, but not evaluated.
template <class... Arguments>
NUMDIFF_HD constexpr void sink(Arguments&&... /*unused*/) noexcept {}

// Keeps a local variable out of memory: a reference to it, even in code that is never run, may change
// what gcc makes of it.
template <class Number>
NUMDIFF_HD constexpr Number by_value(Number value) noexcept {
  return value;
}

// What disabled declaring macros declare.
struct disabled {};
template <class... Arguments>
NUMDIFF_HD constexpr disabled disabled_sink(Arguments&&... /*unused*/) noexcept {
  return {};
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
