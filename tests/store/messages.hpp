#pragma once
// Builds messages as probes do, and directories for tests.
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "numdiff/detail/message.hpp"
#include "numdiff/detail/tail.hpp"

namespace numdiff::testing {

using bytes = std::vector<std::byte>;

template <class T>
std::span<const std::byte> raw(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// One message: the row, then fields.
class message {
 public:
  template <class Row>
  message(detail::message_kind kind, std::uint64_t id, const Row& row) {
    header_.kind = static_cast<std::uint16_t>(kind);
    header_.ready = 1;
    header_.id = id;
    header_.row_bytes = sizeof(Row);
    put(std::as_bytes(std::span(&row, 1)));
  }
  message& field(detail::field tag, std::span<const std::byte> content) {
    detail::field_header f{};
    f.tag = static_cast<std::uint16_t>(tag);
    f.bytes = static_cast<std::uint32_t>(content.size());
    put(std::as_bytes(std::span(&f, 1)));
    put(content);
    return *this;
  }
  message& text(detail::field tag, std::string_view s) { return field(tag, std::as_bytes(std::span(s))); }
  template <class Row>
  message& row(detail::field tag, const Row& r) {
    return field(tag, std::as_bytes(std::span(&r, 1)));
  }
  [[nodiscard]] bytes done() const {
    detail::message_header h = header_;
    h.size = static_cast<std::uint32_t>(all_.size());
    h.check = detail::crc32c(all_.data() + sizeof(h), all_.size() - sizeof(h));
    bytes out = all_;
    std::memcpy(out.data(), &h, sizeof(h));
    return out;
  }

 private:
  void put(std::span<const std::byte> content) {
    all_.insert(all_.end(), content.begin(), content.end());
    all_.resize((all_.size() + 7) / 8 * 8);
  }
  detail::message_header header_{};
  bytes all_ = bytes(sizeof(detail::message_header));  // the header is filled in at the end
};

inline void append(bytes& to, const bytes& from) {
  to.insert(to.end(), from.begin(), from.end());
}

// A directory that is gone at the end.
class scratch {
 public:
  scratch() {
    std::string pattern = (std::filesystem::temp_directory_path() / "numdiff_store_XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::filesystem::filesystem_error("mkdtemp", {});
    path_ = pattern;
  }
  scratch(const scratch&) = delete;
  scratch& operator=(const scratch&) = delete;
  ~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] std::string operator/(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace numdiff::testing
