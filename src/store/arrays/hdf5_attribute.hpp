#pragma once
// Attributes of HDF5 objects, as small arrays.
#include <memory>
#include <string>
#include <vector>

#include "model/arrays.hpp"
#include "store/hdf5.hpp"

namespace numdiff::store {

// `at.object` is the object. All throw store::error.
std::vector<std::string> attribute_names(hid_t file, const h5::place& at);
model::array_info describe_attribute(hid_t file, std::uint64_t file_bytes, const h5::place& at,
                                     const std::string& name);
std::unique_ptr<model::array_stream> open_attribute(hid_t file, std::uint64_t file_bytes, const h5::place& at,
                                                    const std::string& name);

}  // namespace numdiff::store
