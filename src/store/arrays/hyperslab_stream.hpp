#pragma once
// Datasets that HDF5 itself has to read: compact ones, texts of variable length, its rarer filters.
#include "store/arrays/hdf5_dataset.hpp"

namespace numdiff::store {

std::unique_ptr<model::array_stream> open_hyperslabs(hdf5_dataset data, const std::string& path,
                                                     const std::string& object);

}  // namespace numdiff::store
