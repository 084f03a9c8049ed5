#pragma once
// Opens files with arrays by name: HDF5 that is no run of numdiff, .npz and .npy.
#include <memory>
#include <string>

#include "model/arrays.hpp"

namespace numdiff::store {

enum class file_sort {
  run,   // of numdiff
  hdf5,  // another HDF5 file
  npz,   // a zip archive
  npy,
  other,  // none of them, or not there
};

// By what the file begins with; HDF5 is looked into by a child process. Throws nothing but store::error for a
// file that crashes HDF5.
file_sort sort_of(const std::string& path);

// Call it in run_in_child: the file may be made to crash HDF5. Throws store::error.
std::unique_ptr<model::array_file> open_arrays(const std::string& path, file_sort sort);

std::unique_ptr<model::array_file> open_hdf5_arrays(const std::string& path);
std::unique_ptr<model::array_file> open_npz(const std::string& path);
std::unique_ptr<model::array_file> open_npy(const std::string& path);

}  // namespace numdiff::store
