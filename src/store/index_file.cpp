#include "store/index_file.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <fstream>
#include <iterator>

#include "store/file_system.hpp"
#include "store/guards.hpp"
#include "store/table_file.hpp"
#include "store/table_reader.hpp"

namespace numdiff::store {

namespace {

struct index_row {
  std::int32_t rank;
  std::array<char, index_name_bytes> file;
};

h5::handle fixed_string(std::size_t bytes, const h5::place& at) {
  h5::handle type = h5::own(H5Tcopy(H5T_C_S1), H5Tclose, at, "create");
  h5::check(H5Tset_size(type.get(), bytes), at, "create");
  return type;
}

h5::handle index_type(const h5::place& at) {
  h5::handle type = h5::own(H5Tcreate(H5T_COMPOUND, sizeof(index_row)), H5Tclose, at, "describe");
  h5::check(H5Tinsert(type.get(), "rank", offsetof(index_row, rank), H5T_STD_I32LE), at, "describe");
  h5::check(
      H5Tinsert(type.get(), "file", offsetof(index_row, file), fixed_string(index_name_bytes, at).get()), at,
      "describe");
  return type;
}

void write_attribute(hid_t file, const char* name, hid_t type, const void* value, const h5::place& at) {
  const h5::handle space = h5::own(H5Screate(H5S_SCALAR), H5Sclose, at, "describe");
  const h5::handle attribute =
      h5::own(H5Acreate2(file, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, at, "describe");
  h5::check(H5Awrite(attribute.get(), type, value), at, "describe");
}

void create(const std::string& temporary, const std::string& path, const std::string& run_id,
            std::int32_t world_size) {
  const h5::place at{path, ""};
  const h5::handle access = write_access(true, at);
  const h5::handle creation = h5::own(H5Pcreate(H5P_FILE_CREATE), H5Pclose, at, "create");
  h5::check(H5Pset_obj_track_times(creation.get(), false), at, "create");
  h5::handle file = h5::own(H5Fcreate(temporary.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()),
                            H5Fclose, at, "create");
  write_root_attributes(file.get(), "index", at);
  std::array<char, run_id_bytes> id{};
  run_id.copy(id.data(), id.size() - 1);
  write_attribute(file.get(), "run_id", fixed_string(id.size(), at).get(), id.data(), at);
  write_attribute(file.get(), "world_size", H5T_STD_I32LE, &world_size, at);

  std::vector<index_row> rows(static_cast<std::size_t>(world_size));
  for (std::int32_t r = 0; r < world_size; ++r) {
    index_row& row = rows[static_cast<std::size_t>(r)];
    row.rank = r;
    row.file.fill('\0');
    name_of_file(rank_file(path, r)).copy(row.file.data(), row.file.size() - 1);
  }
  const h5::handle type = index_type(at);
  const hsize_t extent = rows.size();
  const h5::handle space = h5::own(H5Screate_simple(1, &extent, nullptr), H5Sclose, at, "create");
  const h5::handle properties = h5::own(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, at, "create");
  h5::check(H5Pset_obj_track_times(properties.get(), false), at, "create");
  h5::handle data = h5::own(
      H5Dcreate2(file.get(), "/ranks", type.get(), space.get(), H5P_DEFAULT, properties.get(), H5P_DEFAULT),
      H5Dclose, at, "create");
  h5::check(H5Dwrite(data.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, rows.data()), at, "write");
  h5::check(data.reset(), at, "close");
  h5::check(file.reset(), at, "close");
}

bool same_content(const std::string& a, const std::string& b) {
  std::ifstream x(a, std::ios::binary), y(b, std::ios::binary);
  return x && y &&
         std::equal(std::istreambuf_iterator<char>(x), {}, std::istreambuf_iterator<char>(y),
                    std::istreambuf_iterator<char>());
}

}  // namespace

void write_index(const std::string& path, const std::string& run_id, std::int32_t world_size,
                 std::int32_t rank) {
  if (rank != 0 && facts_of(path).exists) return;
  require_displaceable(path);
  const std::string temporary = path + ".birth." + std::to_string(::getpid());
  try {
    create(temporary, path, run_id, world_size);
    // link(2) gives the name only where there is none.
    if (::link(temporary.c_str(), path.c_str()) == 0 || rank != 0 || same_content(temporary, path)) {
      ::unlink(temporary.c_str());
      return;
    }
    displace_file(temporary, path);
  } catch (...) {
    ::unlink(temporary.c_str());
    throw;
  }
}

bool is_index(const std::string& path) {
  const h5::quiet no_printing;
  const no_plugins none;
  return open_guarded(path).kind == "index";
}

run_index read_index(const std::string& path) {
  const h5::quiet no_printing;
  const no_plugins none;
  const h5::place at{path, "/ranks"};
  const auto damaged = [&](const std::string& what) -> error {
    return {path, at.object, "read", what + ": the index is damaged"};
  };
  const guarded_file file = open_guarded(path);
  run_index index;
  const auto run_id = read_text_attribute(file.id.get(), "run_id", run_id_bytes);
  const auto data = open_guarded(file, at);
  if (!run_id || !data) throw damaged("the run or its ranks are not named");
  index.run_id = *run_id;
  const h5::handle type = index_type(at);
  const std::uint64_t n = data->rows;
  require_stored(file, *data, n, sizeof(index_row), at);
  std::vector<index_row> rows(static_cast<std::size_t>(n));
  read_plain(file, *data, type.get(), 0, n, reinterpret_cast<std::byte*>(rows.data()), at);
  index.world_size = static_cast<std::int32_t>(n);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string name(rows[i].file.data(), strnlen(rows[i].file.data(), rows[i].file.size()));
    if (rows[i].rank != static_cast<std::int32_t>(i)) throw damaged("ranks are not in order");
    if (name.empty() || name.find('/') != std::string::npos) throw damaged("a file name is not a plain name");
    index.files.push_back(name);
  }
  return index;
}

}  // namespace numdiff::store
