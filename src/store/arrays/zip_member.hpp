#pragma once
// Members of zip archives as bytes. Only the .npz reader includes this.
#include <zip.h>

#include <memory>
#include <mutex>
#include <string>

#include "store/arrays/linear_stream.hpp"

namespace numdiff::store {

// An open archive, for all of its members: opening one costs as much as it has members. Throws store::error.
class zip_archive {
 public:
  explicit zip_archive(const std::string& file);
  zip_archive(const zip_archive&) = delete;
  zip_archive& operator=(const zip_archive&) = delete;
  ~zip_archive();
  [[nodiscard]] zip_t* get() const noexcept { return archive_; }

  const std::string path;
  std::mutex one_at_a_time;  // for every call of libzip

 private:
  zip_t* archive_;
};

// Bytes of a member when unpacked. Throws std::invalid_argument when it cannot be read: encrypted, packed in
// another way.
std::uint64_t size_of_member(zip_archive& archive, zip_uint64_t index);

// Sequential when the member is packed.
std::unique_ptr<byte_source> open_member(std::shared_ptr<zip_archive> archive, zip_uint64_t index);

}  // namespace numdiff::store
