#include "store/reading_driver.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <utility>

namespace numdiff::store {

namespace {

thread_local read_recorder* recorder = nullptr;

constexpr haddr_t most = static_cast<haddr_t>(std::numeric_limits<off_t>::max());

struct driver_file {
  H5FD_t base{};  // first: HDF5 sees nothing else
  int descriptor = -1;
  haddr_t allocated = 0, end = 0;
  dev_t device = 0;
  ino_t inode = 0;
};

driver_file& own(H5FD_t* file) {
  return *reinterpret_cast<driver_file*>(file);
}
const driver_file& own(const H5FD_t* file) {
  return *reinterpret_cast<const driver_file*>(file);
}

H5FD_t* open_file(const char* name, unsigned flags, hid_t, haddr_t) {
  if ((flags & (H5F_ACC_RDWR | H5F_ACC_TRUNC | H5F_ACC_CREAT)) != 0) return nullptr;
  const int descriptor = ::open(name, O_RDONLY | O_CLOEXEC);
  struct stat status {};
  auto* file = descriptor < 0 || ::fstat(descriptor, &status) != 0 ? nullptr : new (std::nothrow) driver_file;
  if (file == nullptr) {
    if (descriptor >= 0) ::close(descriptor);
    return nullptr;
  }
  file->descriptor = descriptor;
  file->end = static_cast<haddr_t>(status.st_size);
  file->device = status.st_dev;
  file->inode = status.st_ino;
  return &file->base;
}

herr_t close_file(H5FD_t* file) {
  const int status = ::close(own(file).descriptor);
  delete &own(file);
  return status;
}

int compare_files(const H5FD_t* a, const H5FD_t* b) {
  const auto id = [](const H5FD_t* f) { return std::pair(own(f).device, own(f).inode); };
  return id(a) < id(b) ? -1 : id(b) < id(a) ? 1 : 0;
}

herr_t tell_features(const H5FD_t*, unsigned long* flags) {
  *flags = H5FD_FEAT_SUPPORTS_SWMR_IO | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

haddr_t allocated_end(const H5FD_t* file, H5FD_mem_t) {
  return own(file).allocated;
}
herr_t set_allocated_end(H5FD_t* file, H5FD_mem_t, haddr_t end) {
  own(file).allocated = end;
  return 0;
}
haddr_t file_end(const H5FD_t* file, H5FD_mem_t) {
  return own(file).end;
}

// As the drivers of HDF5: what lies behind the end reads as zeros.
herr_t read_file(H5FD_t* file, H5FD_mem_t type, hid_t, haddr_t address, std::size_t bytes, void* out) {
  if (address > most || bytes > most - address) return -1;
  if (type == H5FD_MEM_DRAW && recorder != nullptr && recorder->note(out, bytes, address)) return 0;
  auto* to = static_cast<char*>(out);
  while (bytes > 0) {
    const ssize_t got = ::pread(own(file).descriptor, to, bytes, static_cast<off_t>(address));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return -1;
    if (got == 0) {
      std::memset(to, 0, bytes);
      break;
    }
    to += got;
    bytes -= static_cast<std::size_t>(got);
    address += static_cast<haddr_t>(got);
  }
  return 0;
}

herr_t refuse_write(H5FD_t*, H5FD_mem_t, hid_t, haddr_t, std::size_t, const void*) {
  return -1;
}

H5FD_class_t make_class() {
  H5FD_class_t c{};
#if H5_VERSION_GE(1, 14, 0)
  c.version = H5FD_CLASS_VERSION;
  c.value = static_cast<H5FD_class_value_t>(600);  // of the range for drivers outside the library
#endif
  c.name = "numdiff_reading";
  c.maxaddr = most;
  c.fc_degree = H5F_CLOSE_STRONG;
  c.open = open_file;
  c.close = close_file;
  c.cmp = compare_files;
  c.query = tell_features;
  c.get_eoa = allocated_end;
  c.set_eoa = set_allocated_end;
  c.get_eof = file_end;
  c.read = read_file;
  c.write = refuse_write;
  constexpr H5FD_mem_t map[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::copy(std::begin(map), std::end(map), std::begin(c.fl_map));
  return c;
}

}  // namespace

void use_reading_driver(const h5::handle& access, const h5::place& at) {
  static const H5FD_class_t description = make_class();
  static const hid_t driver = H5FDregister(&description);
  h5::check(driver < 0 ? -1 : H5Pset_driver(access.get(), driver, nullptr), at, "open");
}

read_recorder::read_recorder(std::span<std::byte> buffer) noexcept : buffer_(buffer) {
  recorder = this;
}

read_recorder::~read_recorder() {
  recorder = nullptr;
}

bool read_recorder::note(const void* to, std::size_t bytes, std::uint64_t offset) noexcept {
  const auto* at = static_cast<const std::byte*>(to);
  const auto before = std::less<const std::byte*>();
  if (before(at, buffer_.data()) || !before(at, buffer_.data() + buffer_.size())) return false;
  const auto place = static_cast<std::size_t>(at - buffer_.data());
  if (bytes > buffer_.size() - place) return false;
  try {
    reads_.push_back({place, bytes, offset});
  } catch (const std::bad_alloc&) {
    return false;
  }
  return true;
}

std::vector<skipped_read> read_recorder::take() {
  std::ranges::sort(reads_, {}, &skipped_read::to);
  return std::exchange(reads_, {});
}

}  // namespace numdiff::store
