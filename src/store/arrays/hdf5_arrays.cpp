#include <algorithm>
#include <cerrno>
#include <cstring>

#include "store/arrays/hdf5_attribute.hpp"
#include "store/arrays/hdf5_dataset.hpp"
#include "store/arrays/hdf5_objects.hpp"
#include "store/arrays/linear_stream.hpp"
#include "store/arrays/open_arrays.hpp"
#include "store/file_system.hpp"
#include "store/guards.hpp"

namespace numdiff::store {

namespace {

// Flags of a superblock of version 3: being written, with readers allowed.
constexpr std::uint8_t flag_writing = 1, flag_swmr = 4;

class hdf5_arrays final : public model::array_file {
 public:
  explicit hdf5_arrays(const std::string& file) {
    path = file;
    format = "HDF5";
    has_groups = true;
    if (const std::string problem = h5::library_problem(); !problem.empty())
      throw error(file, "", "open", "cannot be read: " + problem);
    const hdf5_call call(path);
    const h5::place at{path, ""};
    bytes_ = facts_of(path).bytes;
    const std::uint8_t flags = superblock_flags();
    const unsigned mode = (flags & flag_writing) != 0 && (flags & flag_swmr) != 0
                              ? H5F_ACC_RDONLY | H5F_ACC_SWMR_READ
                              : H5F_ACC_RDONLY;
    file_ = {H5Fopen(path.c_str(), mode, reading_access(at).get()), H5Fclose};
    if (!file_) {
      try {
        h5::fail(at, "open");
      } catch (const error& e) {
        throw error(path, "", "open",
                    std::string("is damaged, truncated or still being written: HDF5 ") +
                        (e.what() + path.size() + 2));
      }
    }
    objects = list_objects(file_.get(), path);
  }

  model::array_info describe(const std::string& array) override {
    const hdf5_call call(path);
    return dataset(array).info;
  }

  std::unique_ptr<model::array_stream> open(const std::string& array) override {
    const hdf5_call call(path);
    hdf5_dataset data = std::move(dataset(array));
    last_.clear();
    return open_stream(std::move(data), bytes_, path, array);
  }

  std::vector<std::string> attributes(const std::string& object) override {
    const hdf5_call call(path);
    return attribute_names(file_.get(), {path, object});
  }

  model::array_info describe_attribute(const std::string& object, const std::string& name) override {
    const hdf5_call call(path);
    return store::describe_attribute(file_.get(), bytes_, {path, object}, name);
  }

  std::unique_ptr<model::array_stream> open_attribute(const std::string& object,
                                                      const std::string& name) override {
    const hdf5_call call(path);
    return store::open_attribute(file_.get(), bytes_, {path, object}, name);
  }

 private:
  // 0 when there are none: other versions, or a signature that is not at the beginning.
  [[nodiscard]] std::uint8_t superblock_flags() const {
    std::byte head[12] = {};
    if (bytes_ < sizeof head) return 0;
    open_bytes(path)->read(0, head);
    return head[0] == std::byte{0x89} && head[8] == std::byte{3} ? std::to_integer<std::uint8_t>(head[11])
                                                                 : 0;
  }

  hdf5_dataset& dataset(const std::string& name) {
    if (last_ != name) {
      last_.clear();
      data_ = open_dataset(file_.get(), bytes_, {path, name});
      last_ = name;
    }
    return data_;
  }

  no_plugins no_plugins_;
  h5::handle file_;
  std::uint64_t bytes_ = 0;
  std::string last_;  // name of data_
  hdf5_dataset data_;
};

}  // namespace

std::unique_ptr<model::array_file> open_hdf5_arrays(const std::string& path) {
  return std::make_unique<hdf5_arrays>(path);
}

}  // namespace numdiff::store
