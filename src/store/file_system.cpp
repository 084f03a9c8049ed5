#include "store/file_system.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <unistd.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "store/error.hpp"

namespace numdiff::store {

namespace {

bool has_suffix(const std::string& path) {
  return path.size() > 3 && path.compare(path.size() - 3, 3, ".h5") == 0;
}
std::string stem(const std::string& path) {
  return has_suffix(path) ? path.substr(0, path.size() - 3) : path;
}

// Every file of numdiff names its kind in the attributes of the root, which stand at its beginning.
bool is_of_numdiff(const std::string& path) {
  std::string beginning(std::size_t{64} << 10U, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(beginning.data(), static_cast<std::streamsize>(beginning.size()));
  beginning.resize(static_cast<std::size_t>(file.gcount()));
  return beginning.empty() || beginning.find("numdiff_kind") != std::string::npos;
}

}  // namespace

file_facts facts_of(const std::string& path) noexcept {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return {};
  return {true, S_ISREG(s.st_mode), static_cast<std::uint64_t>(s.st_dev),
          static_cast<std::uint64_t>(s.st_ino), static_cast<std::uint64_t>(s.st_size)};
}

bool is_network_file_system(const std::string& directory) noexcept {
  struct statfs s {};
  if (::statfs(directory.c_str(), &s) != 0) return false;
  // NFS, Lustre, FUSE, SMB, CIFS, SMB2, 9p, AFS, Ceph, GPFS, BeeGFS, PVFS2 (statfs(2) and their sources)
  constexpr std::array<std::uint32_t, 12> magic = {0x6969,     0x0bd00bd0, 0x65735546, 0x517b,
                                                   0xff534d42, 0xfe534d42, 0x01021997, 0x5346414f,
                                                   0x00c36400, 0x47504653, 0x19830326, 0x20030528};
  for (const std::uint32_t m : magic)
    if (static_cast<std::uint32_t>(s.f_type) == m) return true;
  return false;
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

std::string name_of_file(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string absolute(const std::string& path) {
  std::error_code e;
  const auto full = std::filesystem::absolute(path, e);
  return e ? path : full.string();
}

void rename_file(const std::string& from, const std::string& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0)
    throw error(from, "", "rename", "cannot be renamed to " + to + ": " + std::strerror(errno));
}

void displace_file(const std::string& from, const std::string& to) {
  require_displaceable(to);
  if (facts_of(to).exists) rename_file(to, old_file(to));
  rename_file(from, to);
}

void require_displaceable(const std::string& path) {
  struct stat s {};
  if (::lstat(path.c_str(), &s) != 0) return;
  if (!S_ISREG(s.st_mode)) throw error(path, "", "create", "is there and is not a plain file");
  if (!is_of_numdiff(path)) throw error(path, "", "create", "is there and is not a file of numdiff");
}

standard_descriptors::standard_descriptors() noexcept {
  for (;;) {
    const int file = ::open("/dev/null", O_RDWR | O_CLOEXEC);
    if (file > STDERR_FILENO) ::close(file);
    if (file < 0 || file > STDERR_FILENO) return;
    taken_[file] = true;
  }
}

standard_descriptors::~standard_descriptors() {
  for (int file = 0; file <= STDERR_FILENO; ++file)
    if (taken_[file]) ::close(file);
}

std::string rank_file(const std::string& run, std::int32_t rank) {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), ".rank%05d", static_cast<int>(rank));
  return stem(run) + number.data() + (has_suffix(run) ? ".h5" : "");
}

std::string run_of_rank_file(const std::string& path) {
  const std::string s = stem(path);
  const std::size_t at = s.rfind(".rank");
  if (!has_suffix(path) || at == std::string::npos || at + 5 >= s.size()) return "";
  for (std::size_t i = at + 5; i < s.size(); ++i)
    if (std::isdigit(static_cast<unsigned char>(s[i])) == 0) return "";
  return s.substr(0, at) + ".h5";
}

std::string tail_file(const std::string& rank_path) {
  return rank_path + ".tail";
}
std::string views_file(const std::string& rank_path) {
  return stem(rank_path) + ".views.h5";
}
std::string old_file(const std::string& path) {
  return path + ".old";
}

}  // namespace numdiff::store
