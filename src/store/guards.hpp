#pragma once
// Opens files and datasets that a stranger may have made: nothing is opened that could lead out of
// the file, run foreign code or claim more memory than the file has bytes.
#include <cstdint>
#include <optional>
#include <string>

#include "store/hdf5.hpp"

namespace numdiff::store {

// Plug-in loading off while it lives; the host's setting comes back after.
class no_plugins {
 public:
  no_plugins() noexcept {
    H5PLget_loading_state(&before_);
    H5PLset_loading_state(0);
  }
  ~no_plugins() { H5PLset_loading_state(before_); }
  no_plugins(const no_plugins&) = delete;
  no_plugins& operator=(const no_plugins&) = delete;

 private:
  unsigned before_ = 0;
};

// How files are opened for reading: strong close, no locks, few tries.
h5::handle reading_access(const h5::place& at);

struct guarded_file {
  h5::handle id;
  std::uint64_t bytes = 0;  // of the file on disk
  std::string kind;         // "capture" or "index"
  bool in_writing = false;  // opened with SWMR_READ: its writer lives, or was killed
};

// Opens a file of numdiff for reading. Throws store::error for anything else.
guarded_file open_guarded(const std::string& path);

struct guarded_dataset {
  h5::handle id;
  std::uint64_t rows = 0;   // as declared
  std::uint64_t width = 1;  // elements of a row
  std::uint64_t chunk_rows = 0;
};

// Opens a dataset by absolute name through hard links only; nothing when it is not there.
std::optional<guarded_dataset> open_guarded(const guarded_file& file, const h5::place& at);

// Throws unless the file has bytes for `rows` rows of `row_bytes` each.
void require_stored(const guarded_file& file, const guarded_dataset& data, std::uint64_t rows,
                    std::uint64_t row_bytes, const h5::place& at);

// Root attributes; nothing when missing or of another type.
std::optional<std::uint32_t> read_u32_attribute(hid_t object, const char* name);
std::optional<std::string> read_text_attribute(hid_t object, const char* name, std::size_t most);

}  // namespace numdiff::store
