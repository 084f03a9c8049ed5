#include "store/table_reader.hpp"

#include <algorithm>
#include <cstring>

#include "store/schema.hpp"

namespace numdiff::store {

namespace {

struct piece {
  std::size_t from, to, bytes;
};

constexpr std::size_t widest_row = std::size_t{1} << 16;

[[noreturn]] void refuse(const h5::place& at, const std::string& sentence) {
  throw error(at.file, at.object, "read", sentence);
}

h5::handle expected_type(const member& m, const h5::place& at) {
  if (m.extent == 1) return h5::own(H5Tcopy(h5::scalar_type(m.type)), H5Tclose, at, "read");
  const hsize_t extent = m.extent;
  return h5::own(H5Tarray_create2(h5::scalar_type(m.type), 1, &extent), H5Tclose, at, "read");
}

}  // namespace

void read_raw(const guarded_dataset& data, hid_t type, std::uint64_t first, std::uint64_t count, void* out,
              const h5::place& at) {
  const int dimensions = data.width > 1 ? 2 : 1;
  const hsize_t start[2] = {first, 0};
  const hsize_t block[2] = {count, data.width};
  const h5::handle space = h5::own(H5Dget_space(data.id.get()), H5Sclose, at, "read");
  if (H5Sget_simple_extent_ndims(space.get()) != dimensions) refuse(at, "has a shape that no table has");
  h5::check(H5Sselect_hyperslab(space.get(), H5S_SELECT_SET, start, nullptr, block, nullptr), at, "read");
  const h5::handle memory = h5::own(H5Screate_simple(dimensions, block, nullptr), H5Sclose, at, "read");
  h5::check(H5Dread(data.id.get(), type, memory.get(), space.get(), H5P_DEFAULT, out), at, "read");
}

void require_rows(const guarded_file& file, const guarded_dataset& data, std::uint64_t rows,
                  std::size_t row_bytes, const h5::place& at) {
  if (rows == 0) return;
  const h5::handle type = h5::own(H5Dget_type(data.id.get()), H5Tclose, at, "read");
  if (H5Tget_class(type.get()) != H5T_COMPOUND || data.width != 1) refuse(at, "does not hold rows");
  const std::size_t file_bytes = H5Tget_size(type.get());
  // Older rows are shorter, but not by this much: what is read may not grow beyond the file's size.
  if (file_bytes < row_bytes / 16 || file_bytes > widest_row) refuse(at, "has rows of an impossible size");
  require_stored(file, data, rows, file_bytes, at);
}

void read_compound(const guarded_dataset& data, std::uint64_t first, std::uint64_t count,
                   const std::vector<member>& members, std::size_t row_bytes, std::byte* out,
                   const h5::place& at) {
  if (count == 0) return;
  const h5::handle type = h5::own(H5Dget_type(data.id.get()), H5Tclose, at, "read");
  const std::size_t file_bytes = H5Tget_size(type.get());
  if (H5Tequal(type.get(), h5::compound(members, row_bytes, at).get()) > 0)
    return read_raw(data, type.get(), first, count, out, at);

  std::vector<piece> pieces;
  for (const member& m : members) {
    const int index = H5Tget_member_index(type.get(), m.name.c_str());
    if (index < 0) continue;
    const auto i = static_cast<unsigned>(index);
    const h5::handle found = h5::own(H5Tget_member_type(type.get(), i), H5Tclose, at, "read");
    if (H5Tequal(found.get(), expected_type(m, at).get()) <= 0)
      refuse(at, "member " + m.name + " has another type than numdiff writes");
    const std::size_t offset = H5Tget_member_offset(type.get(), i);
    const std::size_t bytes = bytes_of(m.type) * m.extent;
    if (offset > file_bytes || bytes > file_bytes - offset)
      refuse(at, "member " + m.name + " lies outside its row");
    pieces.push_back({offset, m.offset, bytes});
  }
  constexpr std::uint64_t block_rows = 4096;
  std::vector<std::byte> buffer(file_bytes * static_cast<std::size_t>(std::min(count, block_rows)));
  for (std::uint64_t done = 0; done < count; done += block_rows) {
    const std::uint64_t n = std::min(block_rows, count - done);
    read_raw(data, type.get(), first + done, n, buffer.data(), at);
    for (std::uint64_t r = 0; r < n; ++r) {
      const std::byte* from = buffer.data() + static_cast<std::size_t>(r) * file_bytes;
      std::byte* to = out + static_cast<std::size_t>(done + r) * row_bytes;
      for (const piece& p : pieces) std::memcpy(to + p.to, from + p.from, p.bytes);
    }
  }
}

void read_plain(const guarded_file& file, const guarded_dataset& data, hid_t type, std::uint64_t first,
                std::uint64_t count, std::byte* out, const h5::place& at) {
  if (count == 0) return;
  const h5::handle found = h5::own(H5Dget_type(data.id.get()), H5Tclose, at, "read");
  if (H5Tequal(found.get(), type) <= 0) refuse(at, "has another type than numdiff writes");
  require_stored(file, data, first + count, H5Tget_size(type) * data.width, at);
  read_raw(data, type, first, count, out, at);
}

}  // namespace numdiff::store
