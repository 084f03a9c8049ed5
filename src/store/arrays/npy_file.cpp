#include <algorithm>
#include <stdexcept>

#include "store/arrays/linear_stream.hpp"
#include "store/arrays/npy_header.hpp"
#include "store/arrays/open_arrays.hpp"
#include "store/error.hpp"
#include "store/file_system.hpp"

namespace numdiff::store {

namespace {

class npy_file final : public model::array_file {
 public:
  explicit npy_file(const std::string& file) {
    path = file;
    format = "npy";
    const std::uint64_t size = facts_of(file).bytes;
    std::vector<std::byte> head(std::min<std::uint64_t>(size, npy_longest));
    open_bytes(file)->read(0, head);
    try {
      header_ = parse_npy(head);
    } catch (const std::invalid_argument& problem) {
      throw error(file, "", "open", problem.what());
    }
    if (!header_.info.unread.empty()) throw error(file, "", "open", header_.info.unread);
    std::uint64_t elements = 0;
    model::multiply(header_.info.shape, elements);
    if (elements * header_.info.element_bytes > size - header_.offset)
      throw error(file, "", "open", "is truncated: its array has more bytes than the file");
    objects.push_back({"/arr_0", model::object_kind::array, ""});
  }

  model::array_info describe(const std::string&) override { return header_.info; }
  std::unique_ptr<model::array_stream> open(const std::string&) override {
    return open_linear(open_bytes(path), header_.offset, header_.info, header_.column_major);
  }
  std::vector<std::string> attributes(const std::string&) override { return {}; }
  model::array_info describe_attribute(const std::string&, const std::string&) override { return {}; }
  std::unique_ptr<model::array_stream> open_attribute(const std::string&, const std::string&) override {
    return nullptr;
  }

 private:
  npy_header header_;
};

}  // namespace

std::unique_ptr<model::array_file> open_npy(const std::string& path) {
  return std::make_unique<npy_file>(path);
}

}  // namespace numdiff::store
