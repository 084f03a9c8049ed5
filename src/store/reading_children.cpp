#include "store/reading_children.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <exception>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>

#include "store/child_process.hpp"

namespace numdiff::store {

namespace {

constexpr time_t file_seconds = 300;  // a file of 100 GB of records is read in less
constexpr int pipe_bytes = 1 << 20;

enum class news : std::uint32_t { begun, read, failed };

struct header {
  std::uint64_t file = 0, bytes = 0;
  news what = news::begun;
  std::uint32_t unused = 0;
};

// What parent and children share. Files are begun in order, so that all before a failed one are finished.
struct progress {
  std::atomic<std::uint64_t> next = 0;
  std::atomic<std::uint64_t> first_failed = ~std::uint64_t{0};

  void note_failure(std::uint64_t file) noexcept {
    std::uint64_t known = first_failed.load();
    while (file < known && !first_failed.compare_exchange_weak(known, file)) {
    }
  }
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);

class shared_progress {
 public:
  shared_progress() {
    void* at = ::mmap(nullptr, sizeof(progress), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::bad_alloc();
    at_ = new (at) progress;
  }
  shared_progress(const shared_progress&) = delete;
  shared_progress& operator=(const shared_progress&) = delete;
  ~shared_progress() { ::munmap(at_, sizeof(progress)); }
  progress& operator*() const { return *at_; }

 private:
  progress* at_;
};

void send(int pipe, const void* data, std::size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t sent = ::write(pipe, at, bytes);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) ::_exit(1);  // nobody listens
    at += sent;
    bytes -= static_cast<std::size_t>(sent);
  }
}

void send(int pipe, std::uint64_t file, news what, std::span<const std::byte> content) {
  const header h{file, content.size(), what};
  send(pipe, &h, sizeof h);
  send(pipe, content.data(), content.size());
}

[[noreturn]] void run_child(std::span<const file_to_read> files, progress& shared, int pipe) noexcept {
  settle_child(false);
  try {
    for (std::uint64_t i = shared.next++; i < files.size() && i < shared.first_failed; i = shared.next++) {
      send(pipe, i, news::begun, {});
      allow_processor_time(file_seconds);
      try {
        send(pipe, i, news::read, files[static_cast<std::size_t>(i)].read());
      } catch (const std::exception& problem) {
        shared.note_failure(i);
        byte_writer out;
        read_failure::of(problem).put(out);
        send(pipe, i, news::failed, out.bytes());
      }
    }
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

// False at the end of the pipe.
bool receive(int pipe, void* to, std::size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(pipe, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<std::size_t>(got);
  }
  return true;
}

class parent {
 public:
  explicit parent(std::span<const file_to_read> files) : files_(files) {}

  std::optional<failed_reading> run() {
    const std::size_t most = std::max(1U, std::thread::hardware_concurrency());
    for (std::size_t c = 0; c < std::min(most, files_.size()); ++c) start();
    if (children_.empty()) throw std::runtime_error("no process could be started");
    std::vector<std::thread> listeners;
    for (std::size_t c = 1; c < children_.size(); ++c)
      listeners.emplace_back([this, c] { listen(children_[c]); });
    listen(children_.front());
    for (std::thread& t : listeners) t.join();
    return std::move(failed_);
  }

 private:
  struct child {
    pid_t process = -1;
    int pipe = -1;
  };

  void start() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return;
    ::fcntl(ends[1], F_SETPIPE_SZ, pipe_bytes);
    const pid_t process = ::fork();
    if (process == 0) {
      for (const child& other : children_) ::close(other.pipe);
      ::close(ends[0]);
      run_child(files_, *shared_, ends[1]);
    }
    ::close(ends[1]);
    if (process < 0) {
      ::close(ends[0]);
    } else {
      children_.push_back({process, ends[0]});
    }
  }

  void fail(std::size_t file, read_failure why) {
    const std::lock_guard lock(mutex_);
    (*shared_).note_failure(file);
    if (!failed_ || file < failed_->file) failed_ = {file, std::move(why)};
  }

  void listen(const child& from) noexcept {
    std::optional<std::size_t> reading;
    std::vector<std::byte> content;
    header h;
    try {
      while (receive(from.pipe, &h, sizeof h)) {
        const auto file = static_cast<std::size_t>(h.file);
        reading = file;
        if (h.what == news::begun) continue;
        content.resize(static_cast<std::size_t>(h.bytes));
        if (!receive(from.pipe, content.data(), content.size())) break;
        reading.reset();
        if (h.what == news::failed) {
          byte_reader in(content);
          fail(file, read_failure::take(in));
        } else if (h.file < (*shared_).first_failed) {
          take(file, content);
        }
      }
    } catch (const std::exception& problem) {
      fail(static_cast<std::size_t>(h.file), read_failure::of(problem));
    }
    ::close(from.pipe);  // a child that still writes ends
    int status = 0;
    try {
      status = wait_for_child(from.process, "");
    } catch (const std::exception&) {
      status = 1;
    }
    if (reading)
      fail(*reading, {read_failure::kind::refused, files_[*reading].path, "", "read", end_of_child(status)});
    else if (status != 0 && (*shared_).first_failed >= files_.size())
      fail(0, {read_failure::kind::other, "", "", "", "a process that read for numdiff was lost"});
  }

  void take(std::size_t file, std::span<const std::byte> content) {
    try {
      files_[file].take(content);
    } catch (const std::exception& problem) {
      fail(file, read_failure::of(problem));
    }
  }

  std::span<const file_to_read> files_;
  shared_progress shared_;
  std::vector<child> children_;
  std::mutex mutex_;
  std::optional<failed_reading> failed_;
};

}  // namespace

std::optional<failed_reading> read_in_children(std::span<const file_to_read> files) {
  if (files.empty()) return {};
  return parent(files).run();
}

}  // namespace numdiff::store
