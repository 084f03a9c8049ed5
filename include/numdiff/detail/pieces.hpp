#pragma once
// Pieces of a capture that were observed apart: bytes of an extra that the capture owns.
// A header, then for each piece: [begin, end) of each dimension in the global tensor (i64), the two words
// of its digest (u64), and, when the header says so, its sketch (256 doubles).
#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr const char* pieces_key = "shards";

struct pieces_header {
  std::uint32_t rank;
  std::uint32_t has_sketch;
};
static_assert(sizeof(pieces_header) == 8);

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
