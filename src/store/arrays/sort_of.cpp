#include <cstring>
#include <fstream>

#include "store/arrays/open_arrays.hpp"
#include "store/file_system.hpp"
#include "store/guards.hpp"
#include "store/isolate.hpp"

namespace numdiff::store {

namespace {

constexpr char hdf5_signature[] = "\x89HDF\r\n\x1a\n";

// Whether the file opens and has the attribute every run file has.
bool has_mark_of_run(const std::string& path) {
  const h5::quiet no_printing;
  const no_plugins none;
  const h5::place at{path, ""};
  for (const unsigned mode : {H5F_ACC_RDONLY, H5F_ACC_RDONLY | H5F_ACC_SWMR_READ}) {
    const h5::handle file(H5Fopen(path.c_str(), mode, reading_access(at).get()), H5Fclose);
    if (file) return H5Aexists(file.get(), "numdiff_kind") > 0;
  }
  return true;  // the reader of runs says what is wrong
}

}  // namespace

file_sort sort_of(const std::string& path) {
  const file_facts facts = facts_of(path);
  if (!facts.exists || !facts.regular) return file_sort::other;
  std::ifstream in(path, std::ios::binary);
  char head[12] = {};
  in.read(head, sizeof head);
  const auto got = static_cast<std::size_t>(in.gcount());
  if (got >= 8 && std::memcmp(head, "\x93NUMPY", 6) == 0) return file_sort::npy;
  if (got >= 4 && (std::memcmp(head, "PK\x03\x04", 4) == 0 || std::memcmp(head, "PK\x05\x06", 4) == 0))
    return file_sort::npz;
  if (got >= 12 && std::memcmp(head, hdf5_signature, 8) == 0) {
    // Run files have superblocks of version 2 or 3.
    if (head[8] != 2 && head[8] != 3) return file_sort::hdf5;
    bool run = true;
    try {
      run = run_in_child([&] { return has_mark_of_run(path) ? 1 : 0; }) == 1;
    } catch (const std::runtime_error&) {
    }
    return run ? file_sort::run : file_sort::hdf5;
  }
  // Behind a user block, as Matlab writes it, the signature stands at 512, 1024, 2048 ...
  for (std::uint64_t at = 512; at + 8 <= facts.bytes; at *= 2) {
    in.clear();
    in.seekg(static_cast<std::streamoff>(at));
    if (in.read(head, 8) && std::memcmp(head, hdf5_signature, 8) == 0) return file_sort::hdf5;
  }
  return file_sort::other;
}

std::unique_ptr<model::array_file> open_arrays(const std::string& path, file_sort sort) {
  switch (sort) {
    case file_sort::hdf5: return open_hdf5_arrays(path);
    case file_sort::npz: return open_npz(path);
    case file_sort::npy: return open_npy(path);
    case file_sort::run:
    case file_sort::other: break;
  }
  throw error(path, "", "open", "is neither HDF5 nor .npz nor .npy");
}

}  // namespace numdiff::store
