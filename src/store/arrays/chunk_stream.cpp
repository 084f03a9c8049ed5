#include "store/arrays/chunk_stream.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace numdiff::store {

namespace {

class chunk_stream final : public model::array_stream {
 public:
  chunk_stream(hdf5_dataset data, std::uint64_t file_bytes, std::string path, std::string object)
      : data_(std::move(data)),
        file_bytes_(file_bytes),
        path_(std::move(path)),
        object_(std::move(object)),
        width_(data_.info.element_bytes) {
    chunk_bytes_ = width_;
    for (const std::uint64_t extent : data_.chunk) chunk_bytes_ *= extent;
  }

  [[nodiscard]] model::array_layout layout() const override {
    model::array_layout how;
    how.chunk = data_.chunk;
    how.block_bytes = 3 * chunk_bytes_;
    return how;
  }

  bool read(const model::box& where, std::span<std::byte> out) override {
    if (where.size() == 0) return true;
    const std::size_t rank = data_.chunk.size();
    model::extents index(rank), from(rank), to(rank);
    for (std::size_t d = 0; d < rank; ++d) {
      from[d] = where.first[d] / data_.chunk[d];
      to[d] = (where.first[d] + where.count[d] - 1) / data_.chunk[d];
    }
    index = from;
    for (;;) {
      load(index);
      copy(index, where, out);
      std::size_t d = rank;
      while (d > 0 && index[d - 1]++ == to[d - 1]) {
        index[d - 1] = from[d - 1];
        --d;
      }
      if (d == 0) return true;
    }
  }

 private:
  [[noreturn]] void damaged(const char* why) const {
    throw error(path_, object_, "read", std::string("is damaged: ") + why);
  }

  void load(const model::extents& index) {
    if (loaded_ == index) return;
    loaded_.clear();
    const hdf5_call call(path_);
    const h5::place at{path_, object_};
    hsize_t corner[H5S_MAX_RANK] = {}, stored = 0;
    for (std::size_t d = 0; d < index.size(); ++d) corner[d] = index[d] * data_.chunk[d];
    // HDF5 has no size for a chunk that nobody wrote.
    const bool written = H5Dget_chunk_storage_size(data_.id.get(), corner, &stored) >= 0 && stored != 0;
    if (!written) {
      fill(corner, at);
    } else {
      if (stored > file_bytes_ || stored > 2 * chunk_bytes_ + 65536)
        damaged("a chunk has an impossible size");
      bytes_.resize(stored);
      std::uint32_t skipped = 0;
      h5::check(H5Dread_chunk(data_.id.get(), H5P_DEFAULT, corner, &skipped, bytes_.data()), at, "read");
      if (!unfilter(bytes_, scratch_, data_.filters, skipped, chunk_bytes_))
        damaged("a chunk does not unpack");
    }
    loaded_ = index;
  }

  // One element of an unwritten chunk is what all of them are; a damaged index fails here as well.
  void fill(const hsize_t* corner, const h5::place& at) {
    const h5::handle space = h5::own(H5Dget_space(data_.id.get()), H5Sclose, at, "read");
    const h5::handle one = h5::own(H5Screate(H5S_SCALAR), H5Sclose, at, "read");
    h5::check(H5Sselect_elements(space.get(), H5S_SELECT_SET, 1, corner), at, "read");
    std::vector<std::byte> value(width_);
    h5::check(H5Dread(data_.id.get(), data_.type.get(), one.get(), space.get(), H5P_DEFAULT, value.data()),
              at, "read");
    bytes_.resize(chunk_bytes_);
    for (std::size_t i = 0; i < chunk_bytes_; i += width_)
      std::memcpy(bytes_.data() + i, value.data(), width_);
  }

  // What the loaded chunk and the box have in common.
  void copy(const model::extents& index, const model::box& where, std::span<std::byte> out) const {
    const std::size_t rank = index.size();
    model::extents first(rank), count(rank), at(rank, 0);
    for (std::size_t d = 0; d < rank; ++d) {
      const std::uint64_t corner = index[d] * data_.chunk[d];
      first[d] = std::max(corner, where.first[d]);
      count[d] = std::min(corner + data_.chunk[d], where.first[d] + where.count[d]) - first[d];
    }
    std::size_t outer = rank - 1;
    std::uint64_t run = count[outer];
    while (outer > 0 && count[outer] == data_.chunk[outer] && count[outer] == where.count[outer])
      run *= count[--outer];
    for (;;) {
      std::uint64_t source = 0, target = 0;
      for (std::size_t d = 0; d < rank; ++d) {
        source = source * data_.chunk[d] + first[d] + at[d] - index[d] * data_.chunk[d];
        target = target * where.count[d] + first[d] + at[d] - where.first[d];
      }
      std::memcpy(out.data() + target * width_, bytes_.data() + source * width_, run * width_);
      std::size_t d = outer;
      while (d > 0 && ++at[d - 1] == count[d - 1]) at[--d] = 0;
      if (d == 0) return;
    }
  }

  hdf5_dataset data_;
  std::uint64_t file_bytes_;
  std::string path_, object_;
  std::uint64_t width_, chunk_bytes_ = 0;
  std::vector<std::byte> bytes_, scratch_;
  model::extents loaded_;  // index of the chunk in bytes_, empty: none
};

}  // namespace

std::unique_ptr<model::array_stream> open_chunks(hdf5_dataset data, std::uint64_t file_bytes,
                                                 const std::string& path, const std::string& object) {
  return std::make_unique<chunk_stream>(std::move(data), file_bytes, path, object);
}

}  // namespace numdiff::store
