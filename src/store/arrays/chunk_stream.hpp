#pragma once
// Datasets in chunks: HDF5 finds a chunk and hands over its bytes, the filters are undone here.
#include "store/arrays/hdf5_dataset.hpp"

namespace numdiff::store {

std::unique_ptr<model::array_stream> open_chunks(hdf5_dataset data, std::uint64_t file_bytes,
                                                 const std::string& path, const std::string& object);

}  // namespace numdiff::store
