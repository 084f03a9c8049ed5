#pragma once
// From a row of a run file to numbers.
#include "analysis/expect/tensor.hpp"
#include "model/run.hpp"

namespace numdiff::analysis {

// The values of a capture that kept them (row.payload >= 0): codes, scales and zero points are read
// and multiplied out. Throws std::runtime_error when the capture has no values or its scaling does
// not fit its shape; what the payload source throws passes through.
tensor decode(const model::rank_data& rank, const model::capture_row& row);

// The decode scales of its groups, without a second-level scale. Empty when they are not stored or the
// capture has none. Throws as decode() does.
std::vector<double> decode_scales(const model::rank_data& rank, const model::capture_row& row);

}  // namespace numdiff::analysis
