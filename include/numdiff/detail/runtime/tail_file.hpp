#pragma once
// The memory of the queue: a mapped file beside the run file, or anonymous memory where that cannot be.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>

#include "numdiff/detail/runtime/launcher.hpp"
#include "numdiff/detail/tail.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

class tail_file {
 public:
  tail_file() noexcept = default;
  tail_file(const tail_file&) = delete;
  tail_file& operator=(const tail_file&) = delete;
  ~tail_file() {
    if (memory_ != nullptr) munmap(memory_, bytes_);
    close_file();
  }

  // False with a reason when another process writes this run file, or there is no memory. A tail that an
  // earlier run left behind follows its run file, which the sink renames to ".old".
  bool open(const std::string& run_file, std::uint64_t capacity, const identity& who, std::string& error) {
    path_ = run_file + ".tail";
    bytes_ = tail_header_bytes + capacity;
    if (in_use()) {
      error = run_file + " is being written by another process";
      if (who.world_size == 1) error += ": ranks of one run need NUMDIFF_RANK and NUMDIFF_WORLD_SIZE";
      return false;
    }
    const std::string old = run_file + ".old.tail";
    if (std::rename(path_.c_str(), old.c_str()) != 0 && errno == ENOENT) unlink(old.c_str());
    memory_ = map_file();
    if (memory_ == nullptr) {
      path_.clear();
      void* anonymous =
          mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (anonymous == MAP_FAILED) {
        error = "no memory for the queue";
        return false;
      }
      memory_ = anonymous;
    }
    // A child after fork() must not write into the queue of its parent.
    madvise(memory_, bytes_, MADV_DONTFORK);
    tail_header& h = header();
    h.version = tail_version;
    h.header_bytes = tail_header_bytes;
    h.capacity = capacity;
    std::memcpy(h.run_id, who.run_id.data(), who.run_id.size());
    h.rank = who.rank;
    h.pid = static_cast<std::int32_t>(getpid());
    std::uint64_t magic = 0;
    std::memcpy(&magic, tail_magic, sizeof magic);
    __atomic_store_n(reinterpret_cast<std::uint64_t*>(h.magic), magic, __ATOMIC_RELEASE);
    return true;
  }

  [[nodiscard]] tail_header& header() const noexcept { return *static_cast<tail_header*>(memory_); }
  [[nodiscard]] unsigned char* ring() const noexcept {
    return static_cast<unsigned char*>(memory_) + tail_header_bytes;
  }
  // Why the queue does not survive the process; "" when it does.
  [[nodiscard]] const std::string& anonymous_because() const noexcept { return reason_; }
  // After a proper end there is nothing left to be read from it.
  void remove() noexcept {
    if (!path_.empty()) unlink(path_.c_str());
  }
  // Async-signal-safe, for the child of a fork.
  void close_file() noexcept {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }

 private:
  // Mapped writes must reach other processes and must not fail later.
  static bool coherent(int file) noexcept {
    struct statfs where {};
    if (fstatfs(file, &where) != 0) return false;
    switch (static_cast<std::uint32_t>(where.f_type)) {
      case 0x6969:      // NFS
      case 0x517b:      // SMB
      case 0xff534d42:  // CIFS
      case 0xfe534d42:  // SMB2
      case 0x65735546:  // FUSE
      case 0x0bd00bd0:  // Lustre
      case 0x47504653:  // GPFS
      case 0x19830326:  // BeeGFS
      case 0x01021997:  // 9P
      case 0x5346414f:  // AFS
        return false;
      default: return true;
    }
  }

  // The writer of a run holds a lock on its tail for as long as it lives.
  [[nodiscard]] bool in_use() const noexcept {
    const int file = ::open(path_.c_str(), O_RDWR | O_CLOEXEC);
    if (file < 0) return false;
    const bool held = flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
    ::close(file);
    return held;
  }

  // Room beyond this limit would end the program with SIGXFSZ.
  [[nodiscard]] bool within_file_limit() const noexcept {
    rlimit limit{};
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
           bytes_ <= limit.rlim_cur;
  }

  // Not one of the standard streams, which the program may have closed and still writes to.
  static int beyond_streams(int file) noexcept {
    if (file < 0 || file > STDERR_FILENO) return file;
    const int other = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    ::close(file);
    return other;
  }

  void* map_file() {
    if (!within_file_limit()) {
      reason_ = "the tail is larger than files may be";
      return nullptr;
    }
    const int file = beyond_streams(::open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
    if (file < 0) {
      reason_ = std::string("the tail cannot be made: ") + std::strerror(errno);
      return nullptr;
    }
    void* memory = nullptr;
    if (!coherent(file)) {
      reason_ = "the file system does not keep mapped files coherent";
      // Straight to the system: the C library would write zeros where this is not supported.
    } else if (fallocate(file, 0, 0, static_cast<off_t>(bytes_)) != 0) {
      reason_ = std::string("no room for the tail: ") + std::strerror(errno);
    } else {
      memory = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
      if (memory == MAP_FAILED) {
        reason_ = std::string("the tail cannot be mapped: ") + std::strerror(errno);
        memory = nullptr;
      }
    }
    if (memory == nullptr) {
      ::close(file);
      unlink(path_.c_str());
      return nullptr;
    }
    flock(file, LOCK_EX | LOCK_NB);
    file_ = file;
    return memory;
  }

  std::string path_, reason_;
  void* memory_ = nullptr;
  std::uint64_t bytes_ = 0;
  int file_ = -1;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
