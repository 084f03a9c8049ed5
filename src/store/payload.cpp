#include "store/payload.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "store/file_system.hpp"
#include "store/schema.hpp"
#include "store/table_reader.hpp"

namespace numdiff::store {

payload_reader::payload_reader(std::string path, const lengths& in_file,
                               std::array<std::vector<std::byte>, dtype_count> behind)
    : path_(absolute(path)), in_file_(in_file), behind_(std::move(behind)) {
  const file_facts facts = facts_of(path_);
  device_ = facts.device;
  inode_ = facts.inode;
}

const guarded_dataset& payload_reader::dataset(dtype type, const h5::place& at) const {
  if (!file_) {
    const file_facts facts = facts_of(path_);
    if (!facts.exists || facts.device != device_ || facts.inode != inode_)
      throw error(path_, "", "open", "was replaced while it was read");
    file_ = open_guarded(path_);
  }
  auto& data = data_[static_cast<std::size_t>(type)];
  if (!data) data = open_guarded(*file_, at);
  if (!data) throw error(path_, at.object, "read", "is missing");
  return *data;
}

void payload_reader::read(dtype type, std::int64_t first, std::span<std::byte> out) const {
  if (out.empty()) return;
  const h5::place at{path_, payload_name(type)};
  const std::size_t width = numdiff::bytes_of(type);
  const auto d = static_cast<std::size_t>(type);
  if (width == 0 || out.size() % width != 0) throw error(path_, at.object, "read", "holds no such elements");
  const std::int64_t in_file = in_file_.payload[d];
  const std::int64_t total = in_file + static_cast<std::int64_t>(behind_[d].size() / width);
  const auto count = static_cast<std::int64_t>(out.size() / width);
  if (first < 0 || first > total || count > total - first)
    throw error(path_, at.object, "read",
                "has " + std::to_string(total) + " elements, " + std::to_string(count) +
                    " were asked for from " + std::to_string(first));
  const std::int64_t here = std::clamp<std::int64_t>(in_file - first, 0, count);
  if (here > 0) {
    const std::lock_guard lock(mutex_);
    const h5::quiet no_printing;
    const no_plugins none;
    const guarded_dataset& data = dataset(type, at);
    read_plain(*file_, data, h5::code_type(type, at).get(), static_cast<std::uint64_t>(first),
               static_cast<std::uint64_t>(here), out.data(), at);
  }
  if (here < count) {
    const auto skip = static_cast<std::size_t>(std::max<std::int64_t>(first - in_file, 0)) * width;
    std::memcpy(out.data() + static_cast<std::size_t>(here) * width, behind_[d].data() + skip,
                static_cast<std::size_t>(count - here) * width);
  }
}

}  // namespace numdiff::store
