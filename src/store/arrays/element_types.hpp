#pragma once
// What readers of every format share about element types.
#include <string>

#include "model/arrays.hpp"

namespace numdiff::store {

inline constexpr std::size_t most_parts = 10'000;
inline constexpr std::uint64_t largest_element = std::uint64_t{64} << 20;

// A real of the format with these bits, IEEE-like or OCP's; unread when there is none.
void set_real(model::element_part& part, std::uint64_t bytes, unsigned exponent_bits, unsigned mantissa_bits,
              std::uint64_t bias);
// 80 bits of x87 in 12 or 16 bytes.
void set_extended(model::element_part& part, std::uint64_t bytes);
void set_integer(model::element_part& part, std::uint64_t bytes, bool is_signed);
void set_boolean(model::element_part& part);
void set_opaque(model::element_part& part, std::uint64_t bytes, const std::string& tag);
void set_text(model::element_part& part, std::uint64_t bytes, model::text_end end);

// "c64", "c128", or "complex f16".
std::string complex_name(const model::element_part& real);

}  // namespace numdiff::store
