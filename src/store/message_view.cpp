#include "store/message_view.hpp"

namespace numdiff::store {

namespace {

template <class T>
T load(std::span<const std::byte> bytes) noexcept {
  T out;
  std::memcpy(&out, bytes.data(), sizeof(T));
  return out;
}

}  // namespace

std::optional<message_view> view_message(std::span<const std::byte> bytes) noexcept {
  if (bytes.size() < sizeof(detail::message_header)) return {};
  message_view m;
  m.header = load<detail::message_header>(bytes);
  const std::size_t size = m.header.size;
  if (size < sizeof(detail::message_header) || size % 8 != 0 || size > bytes.size()) return {};
  const auto body = bytes.first(size).subspan(sizeof(detail::message_header));
  const std::size_t row = m.header.row_bytes;
  if (row > body.size()) return {};  // before padding it, which could wrap
  m.row = body.first(row);
  m.fields = body.subspan(detail::padded(m.header.row_bytes));
  return m;
}

std::optional<field_view> next_field(std::span<const std::byte>& rest) noexcept {
  if (rest.size() < sizeof(detail::field_header)) return {};
  const auto header = load<detail::field_header>(rest);
  const auto body = rest.subspan(sizeof(detail::field_header));
  if (header.bytes > body.size()) return {};
  rest = body.subspan(std::min<std::size_t>(detail::padded(header.bytes), body.size()));
  return field_view{static_cast<detail::field>(header.tag), body.first(header.bytes)};
}

}  // namespace numdiff::store
