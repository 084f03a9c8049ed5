#pragma once
// The header of a .npy array (NumPy's NEP 1, format versions 1.0 to 3.0).
#include <cstdint>
#include <span>
#include <string>

#include "model/arrays.hpp"

namespace numdiff::store {

struct npy_header {
  model::array_info info;
  bool column_major = false;
  std::uint64_t offset = 0;  // of the first element, from the beginning of the array's bytes
};

// Bytes a header has at least and at most, the magic string included.
inline constexpr std::size_t npy_shortest = 10, npy_longest = std::size_t{1} << 20;

// `bytes` are the beginning of an array's bytes: npy_longest of them, or all. Throws std::invalid_argument
// with a sentence ("is no .npy array: ..."). An element type that is not read makes info.unread.
npy_header parse_npy(std::span<const std::byte> bytes);

// The parts of a dtype as it stands in a header: "'<f4'" or "[('x', '<f4'), ('y', '<i8', (3,))]".
model::array_info parse_npy_type(const std::string& text);

}  // namespace numdiff::store
