#pragma once
// A message before it is written: a row and its fields, by reference.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "numdiff/detail/message.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// What is left out first when there is no room for all of a message.
enum class keep : std::uint8_t { row = 0, histogram = 1, sketch = 2, values = 3 };

class message_parts {
 public:
  template <class Row>
  message_parts(message_kind kind, const Row& row) noexcept
      : kind_(static_cast<std::uint16_t>(kind)), row_(&row), row_bytes_(sizeof row) {}

  // Empty bytes are left out.
  void add(field tag, const void* data, std::size_t bytes, keep class_of = keep::row) noexcept {
    if (bytes != 0 && count_ < max_fields) fields_[count_++] = {tag, class_of, data, bytes};
  }
  void add(field tag, std::string_view words) noexcept { add(tag, words.data(), words.size()); }

  // Bytes of the message with the fields up to `least`.
  [[nodiscard]] std::uint64_t size(keep least = keep::values) const noexcept {
    std::uint64_t total = sizeof(message_header) + padded64(row_bytes_);
    for (std::size_t i = 0; i < count_; ++i) {
      if (fields_[i].class_of <= least) total += sizeof(field_header) + padded64(fields_[i].bytes);
    }
    return total;
  }
  [[nodiscard]] bool has(keep class_of) const noexcept {
    for (std::size_t i = 0; i < count_; ++i) {
      if (fields_[i].class_of == class_of) return true;
    }
    return false;
  }
  [[nodiscard]] std::uint16_t kind() const noexcept { return kind_; }
  [[nodiscard]] std::uint32_t row_bytes() const noexcept { return row_bytes_; }

  // Writes everything behind the header.
  void write(unsigned char* out, keep least) const noexcept {
    out = put(out, row_, row_bytes_);
    for (std::size_t i = 0; i < count_; ++i) {
      const part& f = fields_[i];
      if (f.class_of > least) continue;
      const field_header h = {static_cast<std::uint16_t>(f.tag), 0, static_cast<std::uint32_t>(f.bytes)};
      std::memcpy(out, &h, sizeof h);
      out = put(out + sizeof h, f.data, f.bytes);
    }
  }

 private:
  static constexpr std::size_t max_fields = 16;
  struct part {
    field tag;
    keep class_of;
    const void* data;
    std::size_t bytes;
  };
  static constexpr std::uint64_t padded64(std::uint64_t bytes) noexcept {
    return (bytes + 7U) & ~std::uint64_t{7};
  }
  static unsigned char* put(unsigned char* out, const void* data, std::size_t bytes) noexcept {
    std::memcpy(out, data, bytes);
    const std::size_t padding = padded64(bytes) - bytes;
    std::memset(out + bytes, 0, padding);
    return out + bytes + padding;
  }

  std::uint16_t kind_;
  const void* row_;
  std::uint32_t row_bytes_;
  part fields_[max_fields];
  std::size_t count_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
