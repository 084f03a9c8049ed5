#include "store/file_system.hpp"

#include <sys/stat.h>
#include <sys/statfs.h>

#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "store/error.hpp"

namespace numdiff::store {

namespace {

bool has_suffix(const std::string& path) {
  return path.size() > 3 && path.compare(path.size() - 3, 3, ".h5") == 0;
}
std::string stem(const std::string& path) {
  return has_suffix(path) ? path.substr(0, path.size() - 3) : path;
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

std::string rank_file(const std::string& run, std::int32_t rank) {
  std::array<char, 32> number{};
  std::snprintf(number.data(), number.size(), ".rank%05d", static_cast<int>(rank));
  return stem(run) + number.data() + ".h5";
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
