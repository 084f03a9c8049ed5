#include "store/guards.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>

#include "store/file_system.hpp"
#include "store/reading_driver.hpp"
#include "store/tables.hpp"

namespace numdiff::store {

namespace {

constexpr unsigned metadata_tries =
    24;  // sleeps 17 ms in all: a live writer is done with a block long before

constexpr const char* damaged = "the file is damaged";

[[noreturn]] void refuse(const h5::place& at, const std::string& sentence) {
  throw error(at.file, at.object, "open", sentence);
}

// Bytes of an HDF5 superblock of version 2 and 3: signature, version, sizes, consistency flags.
struct superblock {
  std::uint8_t version = 0;
  std::uint8_t flags = 0;
};
constexpr std::uint8_t flag_writing = 1, flag_swmr = 4;

superblock look_at(const std::string& path, const file_facts& facts) {
  const h5::place at{path, ""};
  if (!facts.exists) refuse(at, std::string("cannot be opened: ") + std::strerror(errno));
  if (!facts.regular) refuse(at, "is not a file");
  if (facts.bytes == 0) refuse(at, "is an empty file, not a numdiff run");
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse(at, std::string("cannot be opened: ") + std::strerror(errno));
  std::array<char, 12> head{};
  in.read(head.data(), head.size());
  static constexpr char signature[] = "\x89HDF\r\n\x1a\n";
  if (in.gcount() < 12 || std::memcmp(head.data(), signature, 8) != 0)
    refuse(at, "is not a numdiff run: not an HDF5 file");
  return {static_cast<std::uint8_t>(head[8]), static_cast<std::uint8_t>(head[11])};
}

void require_hard_link(hid_t file, const std::string& name, const h5::place& at) {
  H5L_info_t link{};
  if (H5Lget_info(file, name.c_str(), &link, H5P_DEFAULT) < 0) h5::fail(at, "open");
  if (link.type != H5L_TYPE_HARD) refuse(at, "is a link to elsewhere; numdiff follows none");
}

}  // namespace

h5::handle reading_access(const h5::place& at) {
  h5::handle access = h5::own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, at, "open");
  h5::check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), at, "open");
#if H5_VERSION_GE(1, 10, 7)
  h5::check(H5Pset_file_locking(access.get(), false, true), at, "open");
#endif
  // HDF5 sleeps twice as long after each failed checksum, from 1 ns; its default of 100 tries never ends.
  h5::check(H5Pset_metadata_read_attempts(access.get(), metadata_tries), at, "open");
  return access;
}

guarded_file open_guarded(const std::string& path) {
  if (const std::string problem = h5::library_problem(); !problem.empty())
    throw error(path, "", "open", "cannot be read: " + problem);
  const h5::place at{path, ""};
  errno = 0;
  const file_facts facts = facts_of(path);
  const superblock head = look_at(path, facts);
  // Run files are written in the 1.8 format or later, whose metadata carries checksums.
  if (head.version < 2 || head.version > 3) refuse(at, "is not a numdiff run: an HDF5 file of another kind");
  const bool writing = head.version == 3 && (head.flags & flag_writing) != 0;
  if (writing && (head.flags & flag_swmr) == 0)
    refuse(at, "was cut before it could be read; its birth did not end");

  const h5::handle access = reading_access(at);
  use_reading_driver(access, at);
  // Every row is read once: a cache of chunks would only copy them.
  h5::check(H5Pset_cache(access.get(), 0, 1, 0, 0), at, "open");
  guarded_file file;
  file.bytes = facts.bytes;
  file.in_writing = writing;
  file.id = {
      H5Fopen(path.c_str(), writing ? H5F_ACC_RDONLY | H5F_ACC_SWMR_READ : H5F_ACC_RDONLY, access.get()),
      H5Fclose};
  if (!file.id) {
    try {
      h5::fail(at, "open");
    } catch (const error& e) {
      refuse(at, std::string(damaged) + " or truncated: HDF5 " + (e.what() + path.size() + 2));
    }
  }
  const auto kind = read_text_attribute(file.id.get(), "numdiff_kind", 64);
  const auto major = read_u32_attribute(file.id.get(), "numdiff_format");
  if (!kind || !major) refuse(at, "is not a numdiff run: an HDF5 file of another kind");
  if (*major != format_major)
    refuse(at, "has format version " + std::to_string(*major) + ", this numdiff reads version " +
                   std::to_string(format_major) + "; use a newer numdiff");
  file.kind = *kind;
  return file;
}

std::optional<guarded_dataset> open_guarded(const guarded_file& file, const h5::place& at) {
  const hid_t id = file.id.get();
  for (std::size_t slash = at.object.find('/', 1);; slash = at.object.find('/', slash + 1)) {
    const std::string part = at.object.substr(0, slash);
    const htri_t there = H5Lexists(id, part.c_str(), H5P_DEFAULT);
    if (there < 0) h5::fail(at, "open");
    if (there == 0) return {};
    require_hard_link(id, part, at);
    if (slash == std::string::npos) break;
  }
  H5O_info_t info{};
  h5::check(H5Oget_info_by_name(id, at.object.c_str(), &info, H5P_DEFAULT), at, "open");
  if (info.type != H5O_TYPE_DATASET) refuse(at, "is not a dataset");

  guarded_dataset data;
  data.id = h5::own(H5Dopen2(id, at.object.c_str(), H5P_DEFAULT), H5Dclose, at, "open");
  const h5::handle properties = h5::own(H5Dget_create_plist(data.id.get()), H5Pclose, at, "open");
  const H5D_layout_t layout = H5Pget_layout(properties.get());
  if (layout == H5D_VIRTUAL)
    refuse(at, "is a virtual dataset, whose data lies elsewhere; numdiff reads none");
  if (H5Pget_external_count(properties.get()) != 0)
    refuse(at, "has its data in another file; numdiff reads none");
  if (H5Pget_nfilters(properties.get()) != 0) refuse(at, "is filtered; numdiff reads unfiltered data only");
  const h5::handle space = h5::own(H5Dget_space(data.id.get()), H5Sclose, at, "open");
  const int dimensions = H5Sget_simple_extent_ndims(space.get());
  if (dimensions != 1 && dimensions != 2) refuse(at, "has a shape that no table has");
  hsize_t extent[2] = {0, 1}, chunk[2] = {1, 1};
  if (H5Sget_simple_extent_dims(space.get(), extent, nullptr) < 0) h5::fail(at, "open");
  data.rows = data.chunk_rows = extent[0];
  data.width = extent[1];
  if (layout == H5D_CHUNKED) {
    if (H5Pget_chunk(properties.get(), dimensions, chunk) != dimensions) h5::fail(at, "open");
    data.chunk_rows = chunk[0];
  } else if (layout != H5D_CONTIGUOUS && layout != H5D_COMPACT) {
    refuse(at, "has a layout that no table has");
  }
  return data;
}

void require_stored(const guarded_file& file, const guarded_dataset& data, std::uint64_t rows,
                    std::uint64_t row_bytes, const h5::place& at) {
  const auto lies = [&] {
    refuse(at, std::string(damaged) + ": it declares " + std::to_string(rows) + " rows, more than it stores");
  };
  if (rows == 0) return;
  if (row_bytes == 0 || rows > data.rows || rows > file.bytes / row_bytes) lies();
  const hsize_t stored = H5Dget_storage_size(data.id.get());
  if (stored > file.bytes || stored / row_bytes < rows) lies();
}

std::optional<std::uint32_t> read_u32_attribute(hid_t object, const char* name) {
  if (H5Aexists(object, name) <= 0) return {};
  const h5::handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return {};
  const h5::handle type(H5Aget_type(attribute.get()), H5Tclose);
  const h5::handle space(H5Aget_space(attribute.get()), H5Sclose);
  std::uint32_t value = 0;
  if (H5Tequal(type.get(), H5T_STD_U32LE) <= 0 || H5Sget_simple_extent_npoints(space.get()) != 1 ||
      H5Aread(attribute.get(), H5T_STD_U32LE, &value) < 0)
    return {};
  return value;
}

std::optional<std::string> read_text_attribute(hid_t object, const char* name, std::size_t most) {
  if (H5Aexists(object, name) <= 0) return {};
  const h5::handle attribute(H5Aopen(object, name, H5P_DEFAULT), H5Aclose);
  if (!attribute) return {};
  const h5::handle type(H5Aget_type(attribute.get()), H5Tclose);
  const h5::handle space(H5Aget_space(attribute.get()), H5Sclose);
  const std::size_t bytes = H5Tget_size(type.get());
  if (H5Tget_class(type.get()) != H5T_STRING || H5Tis_variable_str(type.get()) != 0 || bytes == 0 ||
      bytes > most || H5Sget_simple_extent_npoints(space.get()) != 1)
    return {};
  std::string text(bytes, '\0');
  if (H5Aread(attribute.get(), type.get(), text.data()) < 0) return {};
  text.resize(std::strlen(text.c_str()));
  return text;
}

}  // namespace numdiff::store
