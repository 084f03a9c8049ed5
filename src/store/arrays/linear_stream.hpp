#pragma once
// Arrays that lie in one piece, in either order.
#include <memory>
#include <string>

#include "model/arrays.hpp"

namespace numdiff::store {

// Bytes from somewhere: a file, a member of an archive.
class byte_source {
 public:
  byte_source() = default;
  byte_source(const byte_source&) = delete;
  byte_source& operator=(const byte_source&) = delete;
  virtual ~byte_source() = default;
  // Bytes [offset, offset + out.size()); throws store::error when they are not there.
  virtual void read(std::uint64_t offset, std::span<std::byte> out) = 0;
  [[nodiscard]] virtual bool sequential() const = 0;
};

// A file, by pread. The descriptor is the source's own.
std::unique_ptr<byte_source> open_bytes(const std::string& path);

// An array whose first element is at `offset` of the source.
std::unique_ptr<model::array_stream> open_linear(std::unique_ptr<byte_source> source, std::uint64_t offset,
                                                 const model::array_info& info, bool column_major);

}  // namespace numdiff::store
