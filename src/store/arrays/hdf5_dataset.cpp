#include "store/arrays/hdf5_dataset.hpp"

#include <algorithm>

#include "store/arrays/chunk_stream.hpp"
#include "store/arrays/hdf5_type.hpp"
#include "store/arrays/hyperslab_stream.hpp"
#include "store/arrays/linear_stream.hpp"
#include "store/isolate.hpp"

namespace numdiff::store {

namespace {

constexpr H5Z_filter_t lzf_of_h5py = 32000;
constexpr std::uint64_t largest_chunk = std::uint64_t{512} << 20;
constexpr std::uint64_t always_fits = std::uint64_t{4} << 30;
constexpr std::uint64_t most_packed = 2000;  // deflate makes at most 1032 bytes of one

bool has_pointers(hid_t type, const model::array_info& info) {
  if (H5Tdetect_class(type, H5T_VLEN) > 0) return true;
  return std::ranges::any_of(info.parts, [](const model::element_part& part) {
    return part.kind == model::part_kind::text && part.end == model::text_end::variable;
  });
}

// Fills filters; false when HDF5 has to undo them. Throws nothing: a filter that is not there makes
// info.unread.
bool read_filters(hid_t properties, hdf5_dataset& data) {
  const int count = H5Pget_nfilters(properties);
  bool own = true;
  for (int i = 0; i < count; ++i) {
    unsigned flags = 0, config = 0;
    unsigned values[8] = {};
    std::size_t value_count = 8;
    char name[64] = {};
    const H5Z_filter_t id = H5Pget_filter2(properties, static_cast<unsigned>(i), &flags, &value_count, values,
                                           sizeof name, name, &config);
    name[sizeof name - 1] = '\0';
    filter_step step;
    if (id == H5Z_FILTER_DEFLATE) {
      step.filter = filter::deflate;
    } else if (id == H5Z_FILTER_SHUFFLE) {
      step.filter = filter::shuffle;
      step.element_bytes = value_count > 0 ? values[0] : 1;
    } else if (id == H5Z_FILTER_FLETCHER32) {
      step.filter = filter::fletcher32;
    } else if (id == lzf_of_h5py) {
      step.filter = filter::lzf;
    } else if (id > 0 && id < H5Z_FILTER_RESERVED && H5Zfilter_avail(id) > 0) {
      own = false;
    } else {
      data.info.unread =
          "is packed by the filter " +
          (*name != '\0' ? std::string(name) + " (" + std::to_string(id) + ")" : std::to_string(id)) +
          ", which numdiff does not have: repack it with gzip";
      return false;
    }
    data.filters.push_back(step);
  }
  return own;
}

void plan_chunks(hid_t properties, bool raw, hdf5_dataset& data, const h5::place& at) {
  hsize_t chunk[H5S_MAX_RANK] = {};
  const auto rank = static_cast<int>(data.info.shape.size());
  if (H5Pget_chunk(properties, H5S_MAX_RANK, chunk) != rank || rank == 0) h5::fail(at, "read");
  data.chunk.assign(chunk, chunk + rank);
  std::uint64_t elements = 0;
  if (!model::multiply(data.chunk, elements) || elements == 0 ||
      elements > (std::uint64_t{1} << 32) / std::max<std::uint64_t>(data.info.element_bytes, 1))
    throw error(at.file, at.object, "read", "is damaged: its chunks have an impossible size");
  const bool own = read_filters(properties, data);
  if (!data.info.unread.empty()) return;
  if (elements * data.info.element_bytes > largest_chunk && !data.filters.empty()) {
    data.info.unread = "has packed chunks of more than 512 MiB";
    return;
  }
  unsigned options = 0;
  H5Pget_chunk_opts(properties, &options);
  if (raw && own && options == 0 && elements * data.info.element_bytes <= largest_chunk)
    data.way = storage_way::chunks;
}

void plan_contiguous(std::uint64_t file_bytes, std::uint64_t bytes, bool raw, hdf5_dataset& data,
                     const h5::place& at) {
  const haddr_t offset = H5Dget_offset(data.id.get());
  if (!raw || offset == HADDR_UNDEF) return;
  if (offset > file_bytes || bytes > file_bytes - offset)
    throw error(at.file, at.object, "read", "is damaged: its data reaches beyond the end of the file");
  data.offset = offset;
  data.way = storage_way::linear;
}

}  // namespace

hdf5_call::hdf5_call(const std::string& path) noexcept {
  now_reading(path);
}

void set_shape(hid_t space, model::array_info& info, const h5::place& at) {
  const H5S_class_t sort = H5Sget_simple_extent_type(space);
  info.null = sort == H5S_NULL;
  if (sort != H5S_SIMPLE) return;
  const int rank = H5Sget_simple_extent_ndims(space);
  hsize_t extent[H5S_MAX_RANK] = {};
  if (rank < 0 || rank > H5S_MAX_RANK || H5Sget_simple_extent_dims(space, extent, nullptr) < 0)
    h5::fail(at, "read");
  info.shape.assign(extent, extent + rank);
}

hdf5_dataset open_dataset(hid_t file, std::uint64_t file_bytes, const h5::place& at) {
  hdf5_dataset data;
  data.id = h5::own(H5Dopen2(file, at.object.c_str(), H5P_DEFAULT), H5Dclose, at, "open");
  data.type = h5::own(H5Dget_type(data.id.get()), H5Tclose, at, "read");
  data.info = parts_of(data.type.get(), at);
  const h5::handle space = h5::own(H5Dget_space(data.id.get()), H5Sclose, at, "read");
  set_shape(space.get(), data.info, at);
  if (!data.info.unread.empty() || data.info.null) return data;

  std::uint64_t elements = 0;
  if (!model::multiply(data.info.shape, elements) ||
      elements > (std::uint64_t{1} << 62) / data.info.element_bytes) {
    data.info.unread = "declares more bytes than there can be";
    return data;
  }
  const h5::handle properties = h5::own(H5Dget_create_plist(data.id.get()), H5Pclose, at, "read");
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  if (layout == H5D_VIRTUAL) {
    data.info.unread = "is a virtual dataset, whose data lies in other files: compare those";
    return data;
  }
  if (H5Pget_external_count(properties.get()) != 0) {
    data.info.unread = "has its data in other files, which are not opened";
    return data;
  }
  const std::uint64_t bytes = elements * data.info.element_bytes;
  const std::uint64_t stored = H5Dget_storage_size(data.id.get());
  if (bytes > always_fits && bytes / most_packed > stored) {
    data.info.unread = "declares " + std::to_string(bytes) + " bytes, but stores " + std::to_string(stored);
    return data;
  }
  const bool raw = !has_pointers(data.type.get(), data.info);
  if (layout == H5D_CHUNKED) plan_chunks(properties.get(), raw, data, at);
  if (layout == H5D_CONTIGUOUS) plan_contiguous(file_bytes, bytes, raw, data, at);
  return data;
}

std::unique_ptr<model::array_stream> open_stream(hdf5_dataset data, std::uint64_t file_bytes,
                                                 const std::string& path, const std::string& object) {
  if (data.way == storage_way::linear) return open_linear(open_bytes(path), data.offset, data.info, false);
  if (data.way == storage_way::chunks) return open_chunks(std::move(data), file_bytes, path, object);
  return open_hyperslabs(std::move(data), path, object);
}

}  // namespace numdiff::store
