#pragma once
// Values one after another in a buffer, as one process hands them to another of the same program.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace numdiff::store {

class byte_writer {
 public:
  template <class T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    put_bytes(&value, sizeof value);
  }
  template <class T>
  void put_list(std::span<const T> list) {
    static_assert(std::is_trivially_copyable_v<T>);
    put(std::uint64_t{list.size()});
    put_bytes(list.data(), list.size_bytes());
  }
  template <class T>
  void put_list(const std::vector<T>& list) {
    put_list(std::span(list));
  }
  void put_text(std::string_view text) {
    put(std::uint64_t{text.size()});
    put_bytes(text.data(), text.size());
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes_.size() + bytes); }
  [[nodiscard]] std::span<const std::byte> bytes() const noexcept { return bytes_; }
  [[nodiscard]] std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  void put_bytes(const void* from, std::size_t count) {
    const auto* first = static_cast<const std::byte*>(from);
    bytes_.insert(bytes_.end(), first, first + count);
  }
  std::vector<std::byte> bytes_;
};

// Throws std::runtime_error for a buffer that ends too early.
class byte_reader {
 public:
  explicit byte_reader(std::span<const std::byte> bytes) noexcept : rest_(bytes) {}

  template <class T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> get_list() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) end();
    std::vector<T> list(static_cast<std::size_t>(count));
    copy(list.data(), list.size() * sizeof(T));
    return list;
  }
  // A list of bytes where it stands in the buffer.
  std::span<const std::byte> get_span() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size()) end();
    const auto here = rest_.first(static_cast<std::size_t>(count));
    rest_ = rest_.subspan(here.size());
    return here;
  }
  std::string get_text() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size()) end();
    std::string text(static_cast<std::size_t>(count), '\0');
    copy(text.data(), text.size());
    return text;
  }

 private:
  [[noreturn]] static void end() {
    throw std::runtime_error("a process of numdiff sent half of what it read");
  }
  void copy(void* to, std::size_t count) {
    if (count > rest_.size()) end();
    if (count > 0) std::memcpy(to, rest_.data(), count);
    rest_ = rest_.subspan(count);
  }
  std::span<const std::byte> rest_;
};

}  // namespace numdiff::store
