#pragma once
// What storage needs to know of paths and file systems.
#include <cstdint>
#include <string>

namespace numdiff::store {

struct file_facts {
  bool exists = false;
  bool regular = false;
  std::uint64_t device = 0, inode = 0, bytes = 0;
};
file_facts facts_of(const std::string& path) noexcept;

// True on file systems where locks or mapped files are not dependable: NFS, Lustre, FUSE, and other
// network file systems.
bool is_network_file_system(const std::string& directory) noexcept;

// "a/b.h5" -> "a" ("." without a slash), and -> "b.h5".
std::string directory_of(const std::string& path);
std::string name_of_file(const std::string& path);

// Absolute form of a path, so that a later chdir does not matter.
std::string absolute(const std::string& path);

// rename(2), or store::error.
void rename_file(const std::string& from, const std::string& to);

// Gives the name `to` to the file `from`; what had that name becomes `.old`.
void displace_file(const std::string& from, const std::string& to);
// store::error unless the name is free, or belongs to an empty file or a file of numdiff: a mistyped name
// must not move somebody's weights, or a device, out of the way.
void require_displaceable(const std::string& path);

// Occupies the closed ones of the three standard descriptors while it lives: a file that got one of them
// would receive what the program prints.
class standard_descriptors {
 public:
  standard_descriptors() noexcept;
  standard_descriptors(const standard_descriptors&) = delete;
  standard_descriptors& operator=(const standard_descriptors&) = delete;
  ~standard_descriptors();

 private:
  bool taken_[3] = {};
};

// Names that belong to a run file. "run.h5" -> "run.rank00003.h5"; without ".h5" it is put behind.
std::string rank_file(const std::string& run, std::int32_t rank);
// The run a rank file's name belongs to: "run.rank00003.h5" -> "run.h5"; "" when it is no such name.
std::string run_of_rank_file(const std::string& path);
std::string tail_file(const std::string& rank_path);
std::string views_file(const std::string& rank_path);
std::string old_file(const std::string& path);

}  // namespace numdiff::store
