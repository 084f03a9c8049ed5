#pragma once
// One dataset of a foreign HDF5 file: what it is, how it is stored, and its elements.
#include <memory>
#include <vector>

#include "model/arrays.hpp"
#include "store/arrays/filters.hpp"
#include "store/hdf5.hpp"

namespace numdiff::store {

enum class storage_way : std::uint8_t {
  linear,  // in one piece in the file: read without HDF5
  chunks,  // in chunks whose filters are undone here
  by_hdf5  // everything else: small, variable-length, packed by another filter of HDF5
};

struct hdf5_dataset {
  h5::handle id, type;
  model::array_info info;
  storage_way way = storage_way::by_hdf5;
  std::uint64_t offset = 0;  // linear: of the first element in the file
  model::extents chunk;
  std::vector<filter_step> filters;
};

// What HDF5 calls need around them: no printing, and the file's name for the parent process.
class hdf5_call {
 public:
  explicit hdf5_call(const std::string& path) noexcept;

 private:
  h5::quiet quiet_;
};

// Opens a dataset by a name that leads through hard links only. What the guards refuse (data elsewhere,
// plug-in filters, sizes far beyond the bytes stored) makes info.unread. Throws store::error for damage.
hdf5_dataset open_dataset(hid_t file, std::uint64_t file_bytes, const h5::place& at);

// The stream owns the dataset.
std::unique_ptr<model::array_stream> open_stream(hdf5_dataset data, std::uint64_t file_bytes,
                                                 const std::string& path, const std::string& object);

// Shape of a dataspace into info.
void set_shape(hid_t space, model::array_info& info, const h5::place& at);

}  // namespace numdiff::store
