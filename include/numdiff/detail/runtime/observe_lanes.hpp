#pragma once
// Vectors of 64 bytes in portable notation, and loops that are compiled for several instruction sets. Every
// clone does the same operations in the same order, so that results do not depend on the machine.
#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

typedef double f64x8 __attribute__((vector_size(64)));
typedef float f32x8 __attribute__((vector_size(32)));
typedef std::int64_t i64x8 __attribute__((vector_size(64)));
typedef std::uint64_t u64x8 __attribute__((vector_size(64)));
typedef std::int32_t i32x8 __attribute__((vector_size(32)));
typedef std::uint32_t u32x8 __attribute__((vector_size(32)));
typedef std::int16_t i16x8 __attribute__((vector_size(16)));
typedef std::uint16_t u16x8 __attribute__((vector_size(16)));
typedef std::uint8_t u8x8 __attribute__((vector_size(8)));

// Eight words of a size, and 64 bytes of them as signed numbers.
template <std::size_t Size>
struct word_lanes;
template <>
struct word_lanes<1> {
  using eight = u8x8;
};
template <>
struct word_lanes<2> {
  using eight = u16x8;
  typedef std::int16_t full __attribute__((vector_size(64)));
};
template <>
struct word_lanes<4> {
  using eight = u32x8;
  typedef std::int32_t full __attribute__((vector_size(64)));
};
template <>
struct word_lanes<8> {
  using eight = u64x8;
  using full = i64x8;
};

// Makes the compiler store a value and read it again: a product and its addition are never contracted into
// one rounding.
#define NUMDIFF_DETAIL_KEEP_APART(value) asm volatile("" : "+m"(value))

#define NUMDIFF_DETAIL_ALWAYS_INLINE inline __attribute__((always_inline))

// NUMDIFF_DETAIL_CLONES(template head, return type, name, (parameters), (arguments)) defines `name` for the
// best instruction set of the machine from name##_body, which must be NUMDIFF_DETAIL_ALWAYS_INLINE.
#if defined(__x86_64__)
inline int instruction_set() noexcept {
  static const int best = [] {
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl")) {
      return 2;
    }
    return __builtin_cpu_supports("avx2") ? 1 : 0;
  }();
  return best;
}

#define NUMDIFF_DETAIL_CLONES(head, type, name, parameters, arguments)                               \
  head __attribute__((target("avx2"))) inline type name##_avx2 parameters noexcept {                 \
    return name##_body arguments;                                                                    \
  }                                                                                                  \
  head __attribute__((                                                                               \
      target("avx512f,avx512dq,avx512bw,avx512vl"))) inline type name##_avx512 parameters noexcept { \
    return name##_body arguments;                                                                    \
  }                                                                                                  \
  head inline type name parameters noexcept {                                                        \
    switch (instruction_set()) {                                                                     \
      case 2: return name##_avx512 arguments;                                                        \
      case 1: return name##_avx2 arguments;                                                          \
      default: return name##_body arguments;                                                         \
    }                                                                                                \
  }
#else
#define NUMDIFF_DETAIL_CLONES(head, type, name, parameters, arguments) \
  head inline type name parameters noexcept {                          \
    return name##_body arguments;                                      \
  }
#endif

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
