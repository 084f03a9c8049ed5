#include "store/payload.hpp"

#include <algorithm>
#include <cstring>

#include "store/error.hpp"

namespace numdiff::store {

payload_reader::payload_reader(std::shared_ptr<const stored_file> file, places stored, codes behind)
    : file_(std::move(file)), stored_(std::move(stored)), behind_(std::move(behind)) {}

void payload_reader::read(dtype type, std::int64_t first, std::span<std::byte> out) const {
  if (out.empty()) return;
  const std::string object = payload_name(type);
  const std::size_t width = numdiff::bytes_of(type);
  const auto d = static_cast<std::size_t>(type);
  if (width == 0 || out.size() % width != 0)
    throw error(file_->path(), object, "read", "holds no such elements");
  const auto in_file = static_cast<std::int64_t>(stored_[d].rows);
  const std::int64_t total = in_file + static_cast<std::int64_t>(behind_[d].size() / width);
  const auto count = static_cast<std::int64_t>(out.size() / width);
  if (first < 0 || first > total || count > total - first)
    throw error(file_->path(), object, "read",
                "has " + std::to_string(total) + " elements, " + std::to_string(count) +
                    " were asked for from " + std::to_string(first));
  const std::int64_t here = std::clamp<std::int64_t>(in_file - first, 0, count);
  if (here > 0)
    file_->read(stored_[d], static_cast<std::uint64_t>(first),
                out.first(static_cast<std::size_t>(here) * width));
  if (here < count) {
    const auto skip = static_cast<std::size_t>(std::max<std::int64_t>(first - in_file, 0)) * width;
    std::memcpy(out.data() + static_cast<std::size_t>(here) * width, behind_[d].data() + skip,
                static_cast<std::size_t>(count - here) * width);
  }
}

model::sketch sketch_reader::read(std::size_t row) const {
  model::sketch buckets;
  file_->read(stored_, row, std::as_writable_bytes(std::span(buckets)));
  return buckets;
}

}  // namespace numdiff::store
