#pragma once
// The Python literals that .npy headers are written in.
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace numdiff::store {

struct literal {
  enum class sort { none, boolean, integer, text, sequence, dictionary };
  literal::sort sort = sort::none;
  std::uint64_t number = 0;  // of booleans and integers; nothing in a header is negative
  std::string text;
  std::vector<literal> items;  // of sequences; of dictionaries: key, value, key, value
  // The value of a key, or nullptr.
  [[nodiscard]] const literal* find(std::string_view key) const noexcept;
};

// Throws std::invalid_argument when `text` is not one literal, with white space around it.
literal parse_literal(std::string_view text);

}  // namespace numdiff::store
