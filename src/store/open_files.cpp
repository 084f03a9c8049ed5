#include "store/open_files.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "store/error.hpp"
#include "store/stored_rows.hpp"

namespace numdiff::store {

namespace {

constexpr rlim_t fewest = 64, others = 64, wanted = 65536;

// Raises what the process may have open to what is wanted, within the limit that the system set.
std::size_t descriptors() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return fewest;
  const rlim_t before = limit.rlim_cur;
  limit.rlim_cur = std::max(before, std::min(limit.rlim_max, wanted));
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) limit.rlim_cur = before;
  return static_cast<std::size_t>(std::clamp(limit.rlim_cur, fewest + others, wanted) - others);
}

void close_descriptor(const int* descriptor) {
  ::close(*descriptor);
  delete descriptor;
}

}  // namespace

open_files::open_files() : most_(descriptors()) {}

open_files& open_files::shared() {
  static open_files files;
  return files;
}

std::shared_ptr<const int> open_files::get(const stored_file& file) {
  const std::lock_guard lock(mutex_);
  if (const auto known = open_.find(&file); known != open_.end()) return known->second.descriptor;
  if (order_.size() >= most_) {
    open_.erase(order_.front());
    order_.pop_front();
  }
  const int descriptor = ::open(file.path().c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw error(file.path(), "", "open", std::string("cannot be opened: ") + std::strerror(errno));
  std::shared_ptr<const int> held(new int(descriptor), close_descriptor);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0 || status.st_dev != file.device() || status.st_ino != file.inode())
    throw error(file.path(), "", "open", "was replaced while it was read");
  open_.emplace(&file, entry{held, order_.insert(order_.end(), &file)});
  return held;
}

void open_files::forget(const stored_file& file) noexcept {
  const std::lock_guard lock(mutex_);
  const auto known = open_.find(&file);
  if (known == open_.end()) return;
  order_.erase(known->second.place);
  open_.erase(known);
}

}  // namespace numdiff::store
