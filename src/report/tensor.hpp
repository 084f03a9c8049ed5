#pragma once
// Numbers of one capture that follow from its row.
#include <cstdint>
#include <string>
#include <vector>

#include "model/run.hpp"

namespace numdiff::report {

std::string shape_text(const model::rank_data& rank, const model::capture_row& row);  // "2x64", "scalar"
std::vector<std::int64_t> shape_of(const model::rank_data& rank, const model::capture_row& row);

// Mean and root mean square over the elements that entered the sums: visible, finite, and not at the
// maximum of a format of 16 bits or more. NaN when there are none.
struct moments {
  std::int64_t count = 0;
  double mean, rms;
};
moments moments_of(const model::capture_row& row);

// Empty when it was not kept.
model::histogram histogram_of(const model::rank_data& rank, std::int64_t offset, std::uint32_t bytes);

const model::cast_row* cast_of(const model::rank_data& rank, const model::capture_row& row);
const model::scales_row* scales_of(const model::rank_data& rank, const model::capture_row& row);

// The first `count` decoded values. `why` says why there are none.
std::vector<double> first_values(const model::rank_data& rank, const model::capture_row& row,
                                 std::size_t count, std::string& why);

}  // namespace numdiff::report
