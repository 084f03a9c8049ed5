#pragma once
// A tensor holds the raw codes of its format: what is captured is what is stored. Arithmetic decodes to
// float or double, computes, and encodes again.
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layout.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace minigpt {

using numdiff::dtype;
// Decode scales of a quantised matrix: value = code * scale of its block of rows x columns elements.
struct block_scales {
  numdiff::granularity how = numdiff::granularity::none;  // tensor, block or mx
  std::int64_t rows = 0, columns = 0;
  std::vector<float> values;
  std::vector<std::uint8_t> codes;  // the same, as they are stored
};

struct tensor {
  dtype type = dtype::unknown;
  shape extents;
  std::vector<std::byte> codes;
  placement place;
  block_scales scales;
  numdiff::usage usage = numdiff::usage::none;

  tensor() = default;
  tensor(dtype t, shape s, placement p = {});

  [[nodiscard]] std::int64_t count() const;
  [[nodiscard]] std::int64_t rows() const { return extents[0]; }
  [[nodiscard]] std::int64_t columns() const { return extents[1]; }
};

// The stored values, scales applied.
template <class T>
std::vector<T> decode(const tensor& t);

// Rounds to nearest even into the format of `t`, which has no scales; beyond the range is infinite.
template <class T>
void encode(const std::vector<T>& values, tensor& t);

// One value of a tensor.
double first_value(const tensor& t);

// A tensor of the same place and extents in another format.
tensor like(const tensor& t, dtype type);

}  // namespace minigpt
