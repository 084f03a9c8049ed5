#pragma once
// Takes messages (include/numdiff/detail/message.hpp) apart: from the queue in the sink, from a tail
// in the reader. Nothing in a message is believed before its size is checked.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "store/tables.hpp"

namespace numdiff::store {

struct message_view {
  detail::message_header header{};
  std::span<const std::byte> row;
  std::span<const std::byte> fields;

  // The fixed row; what an older writer did not know is "not recorded".
  template <class Row>
  [[nodiscard]] Row row_as() const {
    Row out = not_recorded<Row>();
    copy_shorter(row, out);
    return out;
  }

  template <class Row>
  static void copy_shorter(std::span<const std::byte> from, Row& to) {
    if (!from.empty()) std::memcpy(&to, from.data(), std::min(from.size(), sizeof(Row)));
  }
};

// The message at the front of `bytes`; nothing when its sizes do not fit.
std::optional<message_view> view_message(std::span<const std::byte> bytes) noexcept;

struct field_view {
  detail::field tag{};
  std::span<const std::byte> bytes;
};

// Takes the next field off the front of `rest`; nothing at the end or when it does not fit.
std::optional<field_view> next_field(std::span<const std::byte>& rest) noexcept;

}  // namespace numdiff::store
