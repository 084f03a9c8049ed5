#include <zip.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "store/arrays/linear_stream.hpp"
#include "store/arrays/npy_header.hpp"
#include "store/arrays/open_arrays.hpp"
#include "store/arrays/zip_member.hpp"
#include "store/error.hpp"

namespace numdiff::store {

namespace {

constexpr zip_int64_t most_members = 1'000'000;

// A member's bytes without a header, as numpy.load gives them.
model::array_info bytes_of_member(std::uint64_t size) {
  npy_header raw;
  raw.info = parse_npy_type("'|u1'");
  raw.info.shape = {size};
  return raw.info;
}

class npz_file final : public model::array_file {
 public:
  explicit npz_file(const std::string& file) {
    path = file;
    format = "npz";
    archive_ = std::make_shared<zip_archive>(file);
    const zip_int64_t count = zip_get_num_entries(archive_->get(), 0);
    if (count > most_members) throw error(file, "", "open", "has more than a million members");
    for (zip_int64_t i = 0; i < count; ++i) {
      const char* name = zip_get_name(archive_->get(), static_cast<zip_uint64_t>(i), ZIP_FL_ENC_RAW);
      if (name == nullptr) throw error(file, "", "open", "is damaged: a member has no name");
      std::string key = name;
      if (key.ends_with('/')) continue;
      const bool is_array = key.ends_with(".npy");
      if (is_array) key.resize(key.size() - 4);
      if (!key.starts_with('/')) key.insert(key.begin(), '/');
      auto [at, fresh] = members_.emplace(std::move(key), member{static_cast<zip_uint64_t>(i), is_array});
      at->second.twice = !fresh;
    }
    for (const auto& [key, m] : members_) objects.push_back({key, model::object_kind::array, ""});
  }

  model::array_info describe(const std::string& array) override { return header_of(array).info; }

  std::unique_ptr<model::array_stream> open(const std::string& array) override {
    const npy_header header = header_of(array);
    return open_linear(open_member(archive_, members_.at(array).index), header.offset, header.info,
                       header.column_major);
  }

  std::vector<std::string> attributes(const std::string&) override { return {}; }
  model::array_info describe_attribute(const std::string&, const std::string&) override { return {}; }
  std::unique_ptr<model::array_stream> open_attribute(const std::string&, const std::string&) override {
    return nullptr;
  }

 private:
  struct member {
    zip_uint64_t index;
    bool is_array;
    bool twice = false;
  };

  npy_header header_of(const std::string& array) {
    if (last_ == array) return header_;
    const member& m = members_.at(array);
    npy_header header;
    try {
      if (m.twice) throw std::invalid_argument("is there twice");
      header = read_header(m);
    } catch (const std::invalid_argument& problem) {
      header.info.unread = problem.what();
    }
    last_ = array;
    return header_ = header;
  }

  // Throws std::invalid_argument for a member that cannot be read.
  npy_header read_header(const member& m) {
    const std::uint64_t size = size_of_member(*archive_, m.index);
    if (!m.is_array) {
      npy_header raw;
      raw.info = bytes_of_member(size);
      return raw;
    }
    const auto bytes = open_member(archive_, m.index);
    std::vector<std::byte> head(std::min<std::uint64_t>(size, 4096));
    bytes->read(0, head);
    npy_header header;
    try {
      header = parse_npy(head);
    } catch (const std::invalid_argument&) {
      head.resize(std::min<std::uint64_t>(size, npy_longest));
      bytes->read(0, head);
      header = parse_npy(head);
    }
    std::uint64_t elements = 0;
    model::multiply(header.info.shape, elements);
    if (header.offset > size || elements * header.info.element_bytes > size - header.offset)
      throw std::invalid_argument("is truncated: its array has more bytes than the member");
    return header;
  }

  std::shared_ptr<zip_archive> archive_;
  std::map<std::string, member> members_;
  std::string last_;
  npy_header header_;
};

}  // namespace

std::unique_ptr<model::array_file> open_npz(const std::string& path) {
  return std::make_unique<npz_file>(path);
}

}  // namespace numdiff::store
