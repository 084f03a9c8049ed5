#pragma once
// The HDF5 file of one rank, open for appending: all its tables, and the order in which they reach
// the disk.
#include <array>
#include <cstdint>
#include <string>

#include "store/append_table.hpp"
#include "store/batch.hpp"

namespace numdiff::store {

// Small chunks keep a file without large tensors small, large ones are written and read faster.
enum class payload_size : std::uint8_t { small, large };

class table_file {
 public:
  // Creates a file under a temporary name beside `path`, with every table and no rows.
  // swmr: readable at any later moment, also when the process is killed; not for network file systems.
  table_file(const std::string& path, bool swmr, payload_size expected);
  table_file(const table_file&) = delete;
  table_file& operator=(const table_file&) = delete;
  // Without publish() or finish() the temporary file is removed.
  ~table_file();

  // Puts rows into the chunks of their tables.
  void append(const batch& rows);
  // Flushes payload and heaps, then rows, then one row of /commits. `row.length` is filled in.
  void commit(commit_row row);
  // Starts SWMR, flushes once and gives the file its name; an older file of that name becomes `.old`.
  void publish();

  // For a copy: closes the complete file, then gives it its name the same way.
  void finish();

  void close();             // throws store::error
  void abandon() noexcept;  // leaves the file as it is on disk

  [[nodiscard]] lengths length() const;
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }

 private:
  void take_name();
  [[nodiscard]] h5::place at(std::string object) const { return {path_, std::move(object)}; }

  std::string path_, temporary_;
  bool swmr_;
  bool published_ = false;
  int descriptor_ = -1;
  h5::handle file_;
  std::array<h5::append_table, table_count> tables_;
  std::array<h5::append_table, dtype_count> payload_;
  h5::append_table commits_;
};

// Points an open descriptor at /dev/null: whatever HDF5 still writes through it, in this process or
// the child of a fork, reaches no file. Safe after fork().
void silence(int descriptor) noexcept;

// File access properties of writing (swmr: the 1.10 format, else the 1.8 one).
h5::handle write_access(bool swmr, const h5::place& at);

// Attributes of the root that say what a file is.
void write_root_attributes(hid_t file, const char* kind, const h5::place& at);

}  // namespace numdiff::store
