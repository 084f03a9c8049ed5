#pragma once
// The filters of HDF5 chunks that numdiff undoes itself, with an end to what they may make: HDF5's own
// inflates as long as there is memory.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace numdiff::store {

enum class filter : std::uint8_t { deflate, shuffle, fletcher32, lzf };

struct filter_step {
  store::filter filter = filter::deflate;
  std::uint64_t element_bytes = 1;  // of shuffle
};

// Undoes `steps`, last first, except those whose bit is set in `skipped`; `bytes` becomes `size` bytes. False
// for damaged bytes, also for those that would become more.
bool unfilter(std::vector<std::byte>& bytes, std::vector<std::byte>& scratch,
              const std::vector<filter_step>& steps, std::uint32_t skipped, std::size_t size);

}  // namespace numdiff::store
