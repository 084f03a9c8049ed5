#pragma once
// One append-only, chunked dataset.
#include <cstdint>
#include <string>

#include "store/hdf5.hpp"

namespace numdiff::store::h5 {

class append_table {
 public:
  append_table() = default;
  // Creates `name` in `file` without rows; `width` > 1 makes rows of that many elements.
  append_table(hid_t file, const place& at, handle type, std::uint64_t width, std::uint64_t chunk_rows);

  void append(const void* rows, std::uint64_t count, const place& at);
  // Hands what was appended to the operating system.
  void flush(const place& at);
  [[nodiscard]] std::uint64_t length() const noexcept { return length_; }
  // Closes, whatever comes of it.
  void abandon() noexcept { data_.reset(); }
  void close(const place& at) { check(data_.reset(), at, "close"); }

 private:
  handle type_, data_;
  std::uint64_t width_ = 1;
  std::uint64_t length_ = 0;
  bool changed_ = false;
};

}  // namespace numdiff::store::h5
