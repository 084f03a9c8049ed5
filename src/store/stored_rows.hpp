#pragma once
// Rows of a dataset that were left in the file: where they lie, so that they are read later without HDF5, by
// any number of threads. Nothing that a damaged file holds can crash such a reading.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/guards.hpp"

namespace numdiff::store {

// Rows [first, next piece's first) from byte `offset` of the file on.
struct row_piece {
  std::uint64_t first = 0, offset = 0;
};

struct row_places {
  std::uint64_t rows = 0, row_bytes = 0;
  std::vector<row_piece> pieces;  // ascending
};

// Where the first `rows` rows lie. The dataset's elements must have the type `type`. Throws store::error for
// rows that are not stored.
row_places find_rows(const guarded_file& file, const guarded_dataset& data, hid_t type, std::uint64_t rows,
                     const h5::place& at);

// A file that stays the same one: its descriptor may be closed between reads, and thousands may be in use.
class stored_file {
 public:
  explicit stored_file(const std::string& path);  // of what has that name now
  stored_file(std::string absolute_path, std::uint64_t device, std::uint64_t inode);
  stored_file(const stored_file&) = delete;
  stored_file& operator=(const stored_file&) = delete;
  ~stored_file();

  // Rows [first, first + out.size() / row_bytes), which are there. Throws store::error when the file was cut
  // or replaced.
  void read(const row_places& rows, std::uint64_t first, std::span<std::byte> out) const;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t device() const noexcept { return device_; }
  [[nodiscard]] std::uint64_t inode() const noexcept { return inode_; }

 private:
  void read_bytes(std::uint64_t offset, std::span<std::byte> out) const;

  std::string path_;
  std::uint64_t device_ = 0, inode_ = 0;
};

}  // namespace numdiff::store
