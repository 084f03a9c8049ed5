#pragma once
// HDF5 types of rows and payloads. Memory type and file type are always the same: HDF5 never converts.
#include <vector>

#include "store/hdf5.hpp"
#include "store/tables.hpp"

namespace numdiff::store::h5 {

// The little-endian compound of a row with the offsets of the struct.
handle compound(const std::vector<member>& members, std::size_t bytes, const place& at);

// One row (or byte of a heap, or bucket value of a sketch) of a table.
handle row_type(table t, const place& at);

// One code. bf16, f16 and f8e5m2 are HDF5 floats, complex numbers {r, i}; narrow formats that HDF5
// cannot describe exactly are unsigned integers, and the dataset's name says what they are.
handle code_type(dtype type, const place& at);

hid_t scalar_type(scalar s) noexcept;

}  // namespace numdiff::store::h5
