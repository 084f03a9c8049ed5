#include "store/stored_rows.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "store/file_system.hpp"
#include "store/open_files.hpp"
#include "store/reading_driver.hpp"
#include "store/table_reader.hpp"

namespace numdiff::store {

namespace {

// Address space that nothing is written to.
class untouched_memory {
 public:
  explicit untouched_memory(std::size_t bytes) : bytes_(bytes) {
    void* at =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    at_ = static_cast<std::byte*>(at);
  }
  untouched_memory(const untouched_memory&) = delete;
  untouched_memory& operator=(const untouched_memory&) = delete;
  ~untouched_memory() { ::munmap(at_, bytes_); }
  [[nodiscard]] std::span<std::byte> span() const { return {at_, bytes_}; }

 private:
  std::byte* at_;
  std::size_t bytes_;
};

[[noreturn]] void refuse(const h5::place& at, const std::string& sentence) {
  throw error(at.file, at.object, "read", sentence);
}

}  // namespace

row_places find_rows(const guarded_file& file, const guarded_dataset& data, hid_t type, std::uint64_t rows,
                     const h5::place& at) {
  row_places found;
  found.rows = rows;
  const h5::handle own_type = h5::own(H5Dget_type(data.id.get()), H5Tclose, at, "read");
  if (H5Tequal(own_type.get(), type) <= 0) refuse(at, "has another type than numdiff writes");
  found.row_bytes = H5Tget_size(type) * data.width;
  require_stored(file, data, rows, found.row_bytes, at);
  if (rows == 0) return found;

  constexpr std::uint64_t block_bytes = std::uint64_t{256} << 20;
  const std::uint64_t block = std::max<std::uint64_t>(1, std::min(rows, block_bytes / found.row_bytes));
  const untouched_memory memory(static_cast<std::size_t>(block * found.row_bytes));
  for (std::uint64_t first = 0; first < rows; first += block) {
    const std::uint64_t count = std::min(block, rows - first);
    const std::span<std::byte> buffer =
        memory.span().first(static_cast<std::size_t>(count * found.row_bytes));
    read_recorder recorder(buffer);
    read_raw(data, type, first, count, buffer.data(), at);
    std::size_t reached = 0;
    for (const skipped_read& piece : recorder.take()) {
      if (piece.to != reached || piece.bytes % found.row_bytes != 0)
        refuse(at, "has rows that are not stored: the file is damaged");
      reached += piece.bytes;
      const std::uint64_t row = first + piece.to / found.row_bytes;
      const bool goes_on =
          !found.pieces.empty() &&
          found.pieces.back().offset + (row - found.pieces.back().first) * found.row_bytes == piece.offset;
      if (!goes_on) found.pieces.push_back({row, piece.offset});
    }
    if (reached != buffer.size()) refuse(at, "has rows that are not stored: the file is damaged");
  }
  return found;
}

stored_file::stored_file(const std::string& path) : path_(absolute(path)) {
  const file_facts facts = facts_of(path_);
  device_ = facts.device;
  inode_ = facts.inode;
}

stored_file::stored_file(std::string absolute_path, std::uint64_t device, std::uint64_t inode)
    : path_(std::move(absolute_path)), device_(device), inode_(inode) {}

stored_file::~stored_file() {
  open_files::shared().forget(*this);
}

void stored_file::read(const row_places& rows, std::uint64_t first, std::span<std::byte> out) const {
  auto piece = std::ranges::upper_bound(rows.pieces, first, {}, &row_piece::first);
  while (!out.empty()) {
    const row_piece& here = *std::prev(piece);
    const std::uint64_t end = piece == rows.pieces.end() ? rows.rows : piece->first;
    const std::uint64_t bytes = std::min<std::uint64_t>(out.size(), (end - first) * rows.row_bytes);
    read_bytes(here.offset + (first - here.first) * rows.row_bytes,
               out.first(static_cast<std::size_t>(bytes)));
    out = out.subspan(static_cast<std::size_t>(bytes));
    first = end;
    if (piece != rows.pieces.end()) ++piece;
  }
}

void stored_file::read_bytes(std::uint64_t offset, std::span<std::byte> out) const {
  const std::shared_ptr<const int> descriptor = open_files::shared().get(*this);
  while (!out.empty()) {
    const ssize_t got = ::pread(*descriptor, out.data(), out.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw error(path_, "", "read", std::string("cannot be read: ") + std::strerror(errno));
    if (got == 0) throw error(path_, "", "read", "was cut while it was read");
    offset += static_cast<std::uint64_t>(got);
    out = out.subspan(static_cast<std::size_t>(got));
  }
}

}  // namespace numdiff::store
