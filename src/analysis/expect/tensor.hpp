#pragma once
// A captured tensor as numbers.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numdiff/dtype.hpp"

namespace numdiff::analysis {

// One rank's view, row-major, decoded: value = (code - zero point) * decode scale.
// `codes` holds the raw codes as stored (bytes_of(type) each); complex tensors have parts as elements.
struct tensor {
  dtype type = dtype::unknown;
  std::vector<std::int64_t> shape;
  std::vector<double> values;
  std::vector<std::byte> codes;
  std::vector<double> scales;  // decode scale of every element, empty when there is no scaling
};

}  // namespace numdiff::analysis
