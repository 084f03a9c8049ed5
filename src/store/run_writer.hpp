#pragma once
// Writes what probes sent into one rank file. One thread at a time; a file is never opened for
// writing again.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "store/error.hpp"
#include "store/intake.hpp"

namespace numdiff::store {

class table_file;

struct run_identity {
  std::string run_id;
  std::int32_t world_size = 1;
  std::int32_t rank = 0;
  std::int32_t restart = 0;
  bool tensors = false;  // values of large tensors will come
};

class run_writer {
 public:
  // When it returns, the file has its name, says whose it is and can be read. Throws store::error.
  // Without SWMR, for network file systems, a file that is not closed is readable up to a flush.
  run_writer(const std::string& path, const run_identity& identity);
  run_writer(const std::string& path, const run_identity& identity, bool swmr);
  run_writer(const run_writer&) = delete;
  run_writer& operator=(const run_writer&) = delete;
  ~run_writer();

  // Takes whole messages, contiguous. After a store::error only abandon() may follow.
  void write(std::span<const std::byte> messages);
  // What was written can be read when it returns.
  void commit(std::uint64_t last_id);
  // Commits, marks the file as ended properly and closes it.
  void close();
  // Leaves the file as it is on disk.
  void abandon() noexcept;

  [[nodiscard]] const intake& taken() const noexcept { return intake_; }
  // Of the open file, -1 when there is none.
  [[nodiscard]] int descriptor() const noexcept;

 private:
  void append();
  void put(std::string_view key, std::string_view value, manifest_class klass);

  intake intake_;
  std::unique_ptr<table_file> file_;
  std::uint64_t last_id_ = 0;
};

}  // namespace numdiff::store
