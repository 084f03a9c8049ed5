#pragma once
// A tensor as a program holds it: codes of a format, perhaps with scales, and the values they mean.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "numdiff/numdiff.hpp"
#include "numdiff/quantize.hpp"

namespace benign {

using numdiff::dtype;
using shape = std::vector<std::int64_t>;
using values = std::vector<double>;

std::int64_t count_of(const shape& s);

struct tensor {
  dtype type = dtype::unknown;
  shape extents;
  values x;  // decoded
  std::vector<std::byte> codes;
  numdiff::granularity granularity = {};
  numdiff::quantized scales;  // empty codes: not scaled

  [[nodiscard]] std::size_t size() const { return x.size(); }
  [[nodiscard]] std::int64_t last() const { return extents.back(); }
  double operator[](std::size_t i) const { return x[i]; }
  // Valid as long as the tensor.
  [[nodiscard]] numdiff::view view() const;
};

// The last two dimensions swapped: as a tensor of its own, and as a view of the same memory.
tensor transposed(const tensor& t);
numdiff::view transposed_view(const tensor& t);

// Each value rounded once; `noise` draws for stochastic rounding.
tensor stored(dtype type, const shape& extents, const values& x,
              numdiff::rounding how = numdiff::rounding::nearest_even, std::uint64_t* noise = nullptr);

// A matrix (all leading dimensions are rows) by a recipe; throws nothing but what std::vector throws.
tensor quantised(const tensor& x, const numdiff::recipe& how);

}  // namespace benign
