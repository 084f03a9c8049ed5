#include "store/arrays/hdf5_attribute.hpp"

#include <algorithm>
#include <cstring>

#include "store/arrays/hdf5_dataset.hpp"
#include "store/arrays/hdf5_type.hpp"
#include "store/arrays/linear_stream.hpp"

namespace numdiff::store {

namespace {

constexpr std::size_t most_attributes = 100'000;
constexpr std::uint64_t largest = std::uint64_t{64} << 20;

herr_t collect(hid_t, const char* name, const H5A_info_t*, void* into) noexcept {
  auto& names = *static_cast<std::vector<std::string>*>(into);
  if (names.size() >= most_attributes) return 1;
  try {
    names.emplace_back(name);
  } catch (...) {
    return -1;
  }
  return 0;
}

struct attribute {
  h5::handle id, type, space;
  model::array_info info;
};

attribute open_one(hid_t file, std::uint64_t file_bytes, const h5::place& object, const std::string& name) {
  const h5::place at{object.file, object.object + "@" + name};
  attribute a;
  a.id = h5::own(H5Aopen_by_name(file, object.object.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT),
                 H5Aclose, at, "open");
  a.type = h5::own(H5Aget_type(a.id.get()), H5Tclose, at, "read");
  a.space = h5::own(H5Aget_space(a.id.get()), H5Sclose, at, "read");
  a.info = parts_of(a.type.get(), at);
  set_shape(a.space.get(), a.info, at);
  std::uint64_t elements = 0;
  if (a.info.null || !a.info.unread.empty()) return a;
  if (!model::multiply(a.info.shape, elements) || elements > largest / a.info.element_bytes)
    a.info.unread = "has more than 64 MiB";
  else if (elements * a.info.element_bytes > std::max<std::uint64_t>(file_bytes, 4096))
    throw error(at.file, at.object, "read", "is damaged: it is larger than its file");
  return a;
}

// The value, with what it points to.
class attribute_bytes final : public byte_source {
 public:
  attribute_bytes(attribute a, const h5::place& at) : a_(std::move(a)) {
    std::uint64_t elements = 0;
    model::multiply(a_.info.shape, elements);
    bytes_.resize(elements * a_.info.element_bytes);
    if (!bytes_.empty()) h5::check(H5Aread(a_.id.get(), a_.type.get(), bytes_.data()), at, "read");
  }
  ~attribute_bytes() override {
    if (!bytes_.empty()) H5Dvlen_reclaim(a_.type.get(), a_.space.get(), H5P_DEFAULT, bytes_.data());
  }
  void read(std::uint64_t offset, std::span<std::byte> out) override {
    std::memcpy(out.data(), bytes_.data() + offset, out.size());
  }
  [[nodiscard]] bool sequential() const override { return false; }

 private:
  attribute a_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::vector<std::string> attribute_names(hid_t file, const h5::place& at) {
  const h5::handle object = h5::own(H5Oopen(file, at.object.c_str(), H5P_DEFAULT), H5Oclose, at, "open");
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Aiterate2(object.get(), H5_INDEX_NAME, H5_ITER_NATIVE, &position, collect, &names) < 0)
    h5::fail(at, "read");
  if (names.size() >= most_attributes)
    throw error(at.file, at.object, "read", "has more than a hundred thousand attributes");
  std::ranges::sort(names);
  return names;
}

model::array_info describe_attribute(hid_t file, std::uint64_t file_bytes, const h5::place& at,
                                     const std::string& name) {
  return open_one(file, file_bytes, at, name).info;
}

std::unique_ptr<model::array_stream> open_attribute(hid_t file, std::uint64_t file_bytes, const h5::place& at,
                                                    const std::string& name) {
  attribute a = open_one(file, file_bytes, at, name);
  const model::array_info info = a.info;
  return open_linear(std::make_unique<attribute_bytes>(std::move(a), at), 0, info, false);
}

}  // namespace numdiff::store
