#pragma once
// The objects of an HDF5 file by all names they have.
#include <string>
#include <vector>

#include "model/arrays.hpp"
#include "store/hdf5.hpp"

namespace numdiff::store {

// By name, the root group first. Links to elsewhere are named and not followed; a group inside itself is not
// entered again. Throws store::error for more than a million names.
std::vector<model::named_object> list_objects(hid_t file, const std::string& path);

}  // namespace numdiff::store
