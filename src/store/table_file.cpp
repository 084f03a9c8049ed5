#include "store/table_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <utility>

#include "store/file_system.hpp"
#include "store/schema.hpp"

namespace numdiff::store {

namespace {

constexpr std::uint64_t chunk_rows = 64;
constexpr std::uint64_t commit_chunk_rows = 16;  // a short run has few, and they are wide
constexpr std::uint64_t heap_chunk_bytes = 4096;
constexpr std::uint64_t payload_chunk_bytes(payload_size expected) {
  return expected == payload_size::large ? std::uint64_t{512} << 10 : std::uint64_t{16} << 10;
}

bool is_heap(table t) {
  return t == table::histograms || t == table::string_heap || t == table::extra_heap;
}
// Tables whose rows point into others are flushed after them.
bool is_row_table(table t) {
  return index_of(t) <= index_of(table::extras);
}

void write_attribute(hid_t file, const char* name, hid_t type, const void* value, const h5::place& at) {
  const h5::handle space = h5::own(H5Screate(H5S_SCALAR), H5Sclose, at, "describe");
  const h5::handle attribute =
      h5::own(H5Acreate2(file, name, type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose, at, "describe");
  h5::check(H5Awrite(attribute.get(), type, value), at, "describe");
}

}  // namespace

void silence(int descriptor) noexcept {
  if (descriptor < 0) return;
  const int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (nothing < 0 || ::dup2(nothing, descriptor) < 0) ::close(descriptor);
  if (nothing >= 0) ::close(nothing);
}

h5::handle write_access(bool swmr, const h5::place& at) {
  h5::handle access = h5::own(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, at, "create");
  h5::check(H5Pset_fclose_degree(access.get(), H5F_CLOSE_STRONG), at, "create");
  h5::check(H5Pset_libver_bounds(access.get(), swmr ? H5F_LIBVER_V110 : H5F_LIBVER_V18, H5F_LIBVER_V110), at,
            "create");
#if H5_VERSION_GE(1, 10, 7)
  h5::check(H5Pset_file_locking(access.get(), false, true), at, "create");
#endif
  return access;
}

void write_root_attributes(hid_t file, const char* kind, const h5::place& at) {
  const std::uint32_t format[2] = {format_major, format_minor};
  write_attribute(file, "numdiff_format", H5T_STD_U32LE, &format[0], at);
  write_attribute(file, "numdiff_format_minor", H5T_STD_U32LE, &format[1], at);
  char text[16] = {};
  for (std::size_t i = 0; i + 1 < sizeof(text) && kind[i] != '\0'; ++i) text[i] = kind[i];
  const h5::handle type = h5::own(H5Tcopy(H5T_C_S1), H5Tclose, at, "describe");
  h5::check(H5Tset_size(type.get(), sizeof(text)), at, "describe");
  write_attribute(file, "numdiff_kind", type.get(), text, at);
}

table_file::table_file(const std::string& path, bool swmr, payload_size expected)
    : path_(path), temporary_(path + ".birth." + std::to_string(::getpid())), swmr_(swmr) {
  require_displaceable(path_);
  const standard_descriptors occupied;
  const h5::place whole = at("");
  const h5::handle access = write_access(swmr, whole);
  const h5::handle creation = h5::own(H5Pcreate(H5P_FILE_CREATE), H5Pclose, whole, "create");
  h5::check(H5Pset_obj_track_times(creation.get(), false), whole, "create");
  try {
    file_ = h5::own(H5Fcreate(temporary_.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), H5Fclose,
                    whole, "create");
    void* found = nullptr;
    if (H5Fget_vfd_handle(file_.get(), H5P_DEFAULT, &found) >= 0 && found != nullptr)
      descriptor_ = *static_cast<int*>(found);
    // A program that this one starts must not hold the file open.
    if (descriptor_ >= 0) ::fcntl(descriptor_, F_SETFD, FD_CLOEXEC);
    write_root_attributes(file_.get(), "capture", whole);
    for (std::size_t i = 0; i < table_count; ++i) {
      const table t = static_cast<table>(i);
      const h5::place here = at(table_name(t));
      tables_[i] = {file_.get(), here, h5::row_type(t, here),
                    t == table::sketches ? std::uint64_t{detail::sketch_buckets} : 1,
                    is_heap(t) ? heap_chunk_bytes : chunk_rows};
    }
    const h5::handle group =
        h5::own(H5Gcreate2(file_.get(), "/payload", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose, whole,
                "create");
    for (std::uint16_t d = 1; d < dtype_count; ++d) {
      const dtype type = static_cast<dtype>(d);
      const h5::place here = at(payload_name(type));
      payload_[d] = {file_.get(), here, h5::code_type(type, here), 1,
                     payload_chunk_bytes(expected) / bytes_of(type)};
    }
    const h5::place commits = at("/commits");
    commits_ = {file_.get(), commits, h5::compound(members_of<commit_row>(), sizeof(commit_row), commits), 1,
                commit_chunk_rows};
  } catch (...) {
    abandon();
    ::unlink(temporary_.c_str());
    throw;
  }
}

table_file::~table_file() {
  if (!published_) {
    file_.reset();
    ::unlink(temporary_.c_str());
  }
}

void table_file::append(const batch& rows) {
  for (std::uint16_t d = 1; d < dtype_count; ++d) {
    const auto& codes = rows.payload[d];
    const dtype type = static_cast<dtype>(d);
    if (!codes.empty())
      payload_[d].append(codes.data(), codes.size() / bytes_of(type), at(payload_name(type)));
  }
  batch::each(rows, [&](table t, const auto& list) {
    if (!list.empty()) tables_[index_of(t)].append(list.data(), list.size(), at(table_name(t)));
  });
}

void table_file::commit(commit_row row) {
  for (std::uint16_t d = 1; d < dtype_count; ++d) payload_[d].flush(at(payload_name(static_cast<dtype>(d))));
  for (const bool rows : {false, true})
    for (std::size_t i = 0; i < table_count; ++i)
      if (is_row_table(static_cast<table>(i)) == rows)
        tables_[i].flush(at(table_name(static_cast<table>(i))));
  row.length = length();
  commits_.append(&row, 1, at("/commits"));
  commits_.flush(at("/commits"));
  h5::check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), at(""), "flush");
}

void table_file::publish() {
  if (swmr_) h5::check(H5Fstart_swmr_write(file_.get()), at(""), "start SWMR");
  h5::check(H5Fflush(file_.get(), H5F_SCOPE_GLOBAL), at(""), "flush");
  take_name();
}

void table_file::finish() {
  close();
  take_name();
}

void table_file::take_name() {
  // Views of the older file would show ranges of the new one.
  ::unlink(views_file(path_).c_str());
  displace_file(temporary_, path_);
  published_ = true;
}

void table_file::close() {
  for (std::size_t i = 0; i < table_count; ++i) tables_[i].close(at(table_name(static_cast<table>(i))));
  for (std::uint16_t d = 1; d < dtype_count; ++d) payload_[d].close(at(payload_name(static_cast<dtype>(d))));
  commits_.close(at("/commits"));
  descriptor_ = -1;
  h5::check(file_.reset(), at(""), "close");
}

void table_file::abandon() noexcept {
  // What the library still holds goes to /dev/null when it closes.
  const h5::quiet no_printing;
  silence(std::exchange(descriptor_, -1));
  for (auto& t : tables_) t.abandon();
  for (auto& p : payload_) p.abandon();
  commits_.abandon();
  file_.reset();
}

lengths table_file::length() const {
  lengths n;
  for (std::size_t i = 0; i < table_count; ++i) n.rows[i] = static_cast<std::int64_t>(tables_[i].length());
  for (std::uint16_t d = 1; d < dtype_count; ++d)
    n.payload[d] = static_cast<std::int64_t>(payload_[d].length());
  return n;
}

}  // namespace numdiff::store
