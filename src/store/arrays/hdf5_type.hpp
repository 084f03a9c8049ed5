#pragma once
// HDF5 datatypes as parts of elements.
#include "model/arrays.hpp"
#include "store/hdf5.hpp"

namespace numdiff::store {

// The parts of a datatype, which is that of elements in memory read without conversion. Throws store::error.
model::array_info parts_of(hid_t type, const h5::place& at);

}  // namespace numdiff::store
