#pragma once
// One part of all elements of a box, side by side and little-endian.
#include <cstddef>
#include <span>
#include <vector>

#include "model/arrays.hpp"

namespace numdiff::analysis {

// How many scalars of a part an element has.
std::uint64_t scalars_of(const model::element_part& part) noexcept;

// The part's bytes of `elements`, `part.bytes` each: in place where they already lie so, else in `buffer`.
std::span<const std::byte> gather(const model::element_part& part, std::uint64_t element_bytes,
                                  std::span<const std::byte> elements, std::vector<std::byte>& buffer);

// The text in the bytes of a text part, as UTF-8 where the file has characters.
std::string text_at(const model::element_part& part, const std::byte* bytes);

// The value of an integer, boolean or enumeration.
__extension__ using wide = __int128;
wide integer_at(const model::element_part& part, const std::byte* bytes) noexcept;

// A value as it is printed: reads back to the same value.
std::string value_text(const model::element_part& part, const std::byte* bytes);

// A real as long double, which holds all formats exactly.
long double real_at(const model::element_part& part, const std::byte* bytes) noexcept;

}  // namespace numdiff::analysis
