#include "store/append_table.hpp"

namespace numdiff::store::h5 {

append_table::append_table(hid_t file, const place& at, handle type, std::uint64_t width,
                           std::uint64_t chunk_rows)
    : type_(std::move(type)), width_(width) {
  const int dimensions = width > 1 ? 2 : 1;
  const hsize_t now[2] = {0, width};
  const hsize_t most[2] = {H5S_UNLIMITED, width};
  const hsize_t chunk[2] = {chunk_rows, width};
  const handle space = own(H5Screate_simple(dimensions, now, most), H5Sclose, at, "create");
  const handle properties = own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, at, "create");
  check(H5Pset_chunk(properties.get(), dimensions, chunk), at, "create");
  check(H5Pset_obj_track_times(properties.get(), false), at, "create");
  data_ = own(H5Dcreate2(file, at.object.c_str(), type_.get(), space.get(), H5P_DEFAULT, properties.get(),
                         H5P_DEFAULT),
              H5Dclose, at, "create");
}

void append_table::append(const void* rows, std::uint64_t count, const place& at) {
  if (count == 0) return;
  const int dimensions = width_ > 1 ? 2 : 1;
  const hsize_t extent[2] = {length_ + count, width_};
  const hsize_t start[2] = {length_, 0};
  const hsize_t block[2] = {count, width_};
  check(H5Dset_extent(data_.get(), extent), at, "extend");
  const handle space = own(H5Dget_space(data_.get()), H5Sclose, at, "extend");
  check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, block, nullptr), at, "extend");
  const handle memory = own(H5Screate_simple(dimensions, block, nullptr), H5Sclose, at, "write");
  check(H5Dwrite(data_.get(), type_.get(), memory.get(), space.get(), H5P_DEFAULT, rows), at, "write");
  length_ += count;
  changed_ = true;
}

void append_table::flush(const place& at) {
  if (!changed_) return;
  check(H5Dflush(data_.get()), at, "flush");
  changed_ = false;
}

}  // namespace numdiff::store::h5
