#pragma once
// How HDF5 reads run files: by pread, and, on request, not at all. A reader that wants to know where rows lie
// asks for them as if it read them, and is told the places instead of the bytes. HDF5 1.10 has no other way
// that is linear in the number of chunks.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "store/hdf5.hpp"

namespace numdiff::store {

// Makes `access` open files with this driver, for reading only.
void use_reading_driver(const h5::handle& access, const h5::place& at);

// Raw data that HDF5 would have read into a buffer: bytes [to, to + bytes) of it from `offset` of the file.
struct skipped_read {
  std::size_t to, bytes;
  std::uint64_t offset;
};

// While one lives, reads of raw data into `buffer` by this thread are noted and not made.
class read_recorder {
 public:
  explicit read_recorder(std::span<std::byte> buffer) noexcept;
  read_recorder(const read_recorder&) = delete;
  read_recorder& operator=(const read_recorder&) = delete;
  ~read_recorder();

  // By place in the buffer.
  [[nodiscard]] std::vector<skipped_read> take();
  // False when it does not concern the buffer, or there is no room to note it: then it is made.
  [[nodiscard]] bool note(const void* to, std::size_t bytes, std::uint64_t offset) noexcept;

 private:
  std::span<std::byte> buffer_;
  std::vector<skipped_read> reads_;
};

}  // namespace numdiff::store
