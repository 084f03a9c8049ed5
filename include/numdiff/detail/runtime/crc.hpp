#pragma once
// CRC-32C with the processor's instruction where there is one; the same result as crc32c().
#include <cstdint>

#include "numdiff/detail/tail.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

#if defined(__x86_64__)
__attribute__((target("sse4.2"))) inline std::uint32_t crc32c_sse42(const unsigned char* p,
                                                                    std::uint64_t bytes) noexcept {
  std::uint64_t c = 0xffffffffU;
  for (; bytes >= 8; bytes -= 8, p += 8) {
    unsigned long long word = 0;
    __builtin_memcpy(&word, p, 8);
    c = __builtin_ia32_crc32di(c, word);
  }
  auto low = static_cast<std::uint32_t>(c);
  for (; bytes != 0; --bytes, ++p) low = __builtin_ia32_crc32qi(low, *p);
  return ~low;
}
#endif

inline std::uint32_t crc32c_fast(const unsigned char* data, std::uint64_t bytes) noexcept {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return crc32c_sse42(data, bytes);
#endif
  return crc32c(data, bytes);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
