#include "store/arrays/hyperslab_stream.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>

namespace numdiff::store {

namespace {

// Memory for what variable-length elements point to, with an end.
class arena {
 public:
  arena() = default;
  arena(const arena&) = delete;
  arena& operator=(const arena&) = delete;
  ~arena() { clear(); }

  void clear() noexcept {
    for (void* p : taken_) std::free(p);
    taken_.clear();
    bytes_ = 0;
    full_ = false;
  }
  [[nodiscard]] bool full() const noexcept { return full_; }

  static void* take(std::size_t size, void* self) { return static_cast<arena*>(self)->allocate(size); }
  static void give_back(void*, void*) {}  // all at once, by clear

 private:
  static constexpr std::size_t most = std::size_t{48} << 20;

  void* allocate(std::size_t size) {
    full_ = full_ || size > most - bytes_;
    void* p = full_ ? nullptr : std::malloc(std::max<std::size_t>(size, 1));
    if (p == nullptr) return nullptr;
    taken_.push_back(p);
    bytes_ += size;
    return p;
  }

  std::vector<void*> taken_;
  std::size_t bytes_ = 0;
  bool full_ = false;
};

class hyperslab_stream final : public model::array_stream {
 public:
  hyperslab_stream(hdf5_dataset data, std::string path, std::string object)
      : data_(std::move(data)), path_(std::move(path)), object_(std::move(object)) {
    const h5::place at{path_, object_};
    properties_ = h5::own(H5Pcreate(H5P_DATASET_XFER), H5Pclose, at, "read");
    h5::check(H5Pset_vlen_mem_manager(properties_.get(), arena::take, &arena_, arena::give_back, &arena_), at,
              "read");
    space_ = h5::own(H5Dget_space(data_.id.get()), H5Sclose, at, "read");
    chunk_bytes_ = data_.info.element_bytes;
    for (const std::uint64_t extent : data_.chunk) chunk_bytes_ *= extent;
  }

  [[nodiscard]] model::array_layout layout() const override {
    model::array_layout how;
    how.chunk = data_.chunk;
    how.block_bytes = data_.filters.empty() ? 0 : 3 * chunk_bytes_;
    return how;
  }

  bool read(const model::box& where, std::span<std::byte> out) override {
    if (where.size() == 0) return true;
    const hdf5_call call(path_);
    const h5::place at{path_, object_};
    arena_.clear();
    h5::handle memory;
    if (!where.first.empty()) {
      h5::check(H5Sselect_hyperslab(space_.get(), H5S_SELECT_SET,
                                    reinterpret_cast<const hsize_t*>(where.first.data()), nullptr,
                                    reinterpret_cast<const hsize_t*>(where.count.data()), nullptr),
                at, "read");
      memory = h5::own(H5Screate_simple(static_cast<int>(where.count.size()),
                                        reinterpret_cast<const hsize_t*>(where.count.data()), nullptr),
                       H5Sclose, at, "read");
    }
    const hid_t from = where.first.empty() ? H5S_ALL : space_.get();
    const hid_t to = where.first.empty() ? H5S_ALL : memory.get();
    if (H5Dread(data_.id.get(), data_.type.get(), to, from, properties_.get(), out.data()) >= 0) return true;
    if (arena_.full()) return false;
    h5::fail(at, "read");
  }

 private:
  static_assert(sizeof(hsize_t) == sizeof(std::uint64_t));

  hdf5_dataset data_;
  std::string path_, object_;
  arena arena_;
  h5::handle properties_, space_;
  std::uint64_t chunk_bytes_ = 0;
};

}  // namespace

std::unique_ptr<model::array_stream> open_hyperslabs(hdf5_dataset data, const std::string& path,
                                                     const std::string& object) {
  return std::make_unique<hyperslab_stream>(std::move(data), path, object);
}

}  // namespace numdiff::store
