#pragma once
// Scaling recipes as data: which elements share a scale, and how the scale follows from them.
#include <cstddef>
#include <cstdint>

#include "numdiff/dtype.hpp"
#include "numdiff/scale_rules.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

// What NaN and infinities do to the elements that share their scale.
enum class nonfinite_scale : std::uint8_t {
  spared,    // NaN is left out of amax, as fmax does; infinity counts (TransformerEngine)
  poisoned,  // one NaN or infinity makes the scale NaN, and with it all its elements (torchao's MX)
};

struct recipe {
  dtype type = dtype::f8e4m3fn;  // of the codes, 8 bits or fewer
  granularity per = granularity::tensor;
  std::size_t block_rows = 0;  // elements that share a scale; 0: all
  std::size_t block_columns = 0;
  dtype scale_type = dtype::f32;  // f32, f8e8m0fnu (mx) or ue4m3 (nvfp4)
  bool power_of_two = false;      // f32 scales: encode scale rounded down to a power of two
  float smallest_amax = 0;        // f32 scales: amax is at least this (1e-12 in torchao, 1e-4 in DeepGEMM)
  float given_encode_scale = 0;   // f32 scales, when > 0: used instead of amax, as delayed scaling does
  mx_rule mx = mx_rule::floor;
  bool normal_block_scale = false;  // nvfp4: block scales are at least E4M3's smallest normal value (torchao)
  bool four_over_six = false;       // nvfp4: a block's maximum maps to 4 or 6, by the smaller squared error
  bool zero_point = false;          // integers: asymmetric, with a zero point
  nonfinite_scale nonfinite = nonfinite_scale::spared;
  rounding round = rounding::nearest_even;  // of the elements
  std::uint64_t seed = 0;                   // of stochastic rounding
};

// Per tensor, from its own amax; with given_encode_scale delayed scaling.
constexpr recipe recipe_tensor(dtype type) noexcept {
  recipe r;
  r.type = type;
  return r;
}
// One scale per row, or per column.
constexpr recipe recipe_row(dtype type) noexcept {
  recipe r = recipe_tensor(type);
  r.per = granularity::row;
  r.block_rows = 1;
  return r;
}
constexpr recipe recipe_column(dtype type) noexcept {
  recipe r = recipe_tensor(type);
  r.per = granularity::column;
  r.block_columns = 1;
  return r;
}
// Blocks of rows x columns: 1x128 for activations, 128x128 for weights.
constexpr recipe recipe_block(dtype type, std::size_t rows, std::size_t columns,
                              bool power_of_two = false) noexcept {
  recipe r = recipe_tensor(type);
  r.per = granularity::block;
  r.block_rows = rows;
  r.block_columns = columns;
  r.power_of_two = power_of_two;
  return r;
}
// MX: blocks of 32 along a row with an E8M0 scale; f8e4m3fn, f8e5m2, f6e2m3fn, f6e3m2fn, f4e2m1fn or mxint8.
constexpr recipe recipe_mx(dtype type, mx_rule rule) noexcept {
  recipe r = recipe_block(type, 1, 32);
  r.per = granularity::mx;
  r.scale_type = dtype::f8e8m0fnu;
  r.mx = rule;
  return r;
}
// NVFP4: blocks of 16 along a row (16 x 16 for weights) with an E4M3 scale, and one FP32 scale of the tensor.
constexpr recipe recipe_nvfp4(std::size_t rows = 1) noexcept {
  recipe r = recipe_block(dtype::f4e2m1fn, rows, 16);
  r.per = granularity::nvfp4;
  r.scale_type = dtype::ue4m3;
  return r;
}
// The recipe of the column-wise copy: blocks run down the columns.
constexpr recipe columnwise(recipe r) noexcept {
  const std::size_t rows = r.block_rows;
  r.block_rows = r.block_columns;
  r.block_columns = rows;
  return r;
}
// i8, i4 (symmetric, +-127 and +-7) or with a zero point over the whole range of i8, u8, i4 or u4.
constexpr recipe recipe_integer(dtype type, bool zero_point = false) noexcept {
  recipe r = recipe_tensor(type);
  r.zero_point = zero_point;
  return r;
}

}  // namespace v1
}  // namespace numdiff
