#pragma once
// Reference quantisers: a matrix of FP32 values to codes and scales by a recipe, step by step in the
// arithmetic that the stacks use (FP32, nearest even), the same under any compiler flags.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/f32.hpp"
#include "numdiff/detail/group_scale.hpp"
#include "numdiff/recipe.hpp"
#include "numdiff/scale_rules.hpp"

namespace numdiff {
inline namespace v1 {

// A quantised matrix. The element at (row, column) belongs to the scale
// (row / block_rows) * scale_columns + column / block_columns.
struct quantized {
  dtype type = dtype::unknown;
  std::size_t rows = 0, columns = 0;
  std::size_t block_rows = 1, block_columns = 1;
  std::size_t scale_rows = 0, scale_columns = 0;
  dtype scale_type = dtype::unknown;
  std::vector<std::uint8_t> codes;        // one per byte, row-major
  std::vector<std::uint8_t> scale_codes;  // raw codes of scale_type in memory order, decode direction
  std::vector<float> decode_scales;       // their values; for nvfp4 without the tensor's scale
  std::vector<std::int32_t> zero_points;  // one per scale, or none
  float global_decode_scale = 1;          // nvfp4: the tensor's second-level scale

  std::size_t scale_index(std::size_t row, std::size_t column) const noexcept {
    return row / block_rows * scale_columns + column / block_columns;
  }
  // (code - zero point) * decode scale * global decode scale
  double value(std::size_t row, std::size_t column) const noexcept {
    const std::size_t s = scale_index(row, column);
    const double code = decode(type, codes[row * columns + column]);
    const double zero = zero_points.empty() ? 0 : static_cast<double>(zero_points[s]);
    return (code - zero) * static_cast<double>(decode_scales[s]) * static_cast<double>(global_decode_scale);
  }
};

// Quantises `values` (rows x columns, row-major). Edge blocks may be smaller than the recipe's. Throws only
// what std::vector throws.
inline quantized quantize(const float* values, std::size_t rows, std::size_t columns, const recipe& r) {
  const format f = format_of(r.type);
  quantized q;
  q.type = r.type;
  q.rows = rows;
  q.columns = columns;
  q.block_rows = r.block_rows ? r.block_rows : (rows ? rows : 1);
  q.block_columns = r.block_columns ? r.block_columns : (columns ? columns : 1);
  q.scale_rows = (rows + q.block_rows - 1) / q.block_rows;
  q.scale_columns = (columns + q.block_columns - 1) / q.block_columns;
  q.scale_type = r.scale_type;
  q.codes.resize(rows * columns);
  const std::size_t scales = q.scale_rows * q.scale_columns;
  const std::size_t scale_bytes = bytes_of(r.scale_type);
  q.scale_codes.resize(scales * scale_bytes);
  q.decode_scales.resize(scales);
  if (r.zero_point) q.zero_points.resize(scales);

  float global_encode = 1;
  if (r.per == granularity::nvfp4) {
    const detail::group_range all = detail::range_of(values, {0, rows, 0, columns}, columns);
    global_encode = nvfp4_global_encode_scale(all.amax_for(r.nonfinite), r.four_over_six ? 256 * 6 : 448 * 6);
    q.global_decode_scale = inverse_scale(global_encode);
  }
  for (std::size_t block = 0; block < scales; ++block) {
    const std::size_t i = block / q.scale_columns * q.block_rows;
    const std::size_t j = block % q.scale_columns * q.block_columns;
    const detail::block_area area{i, i + q.block_rows < rows ? i + q.block_rows : rows, j,
                                  j + q.block_columns < columns ? j + q.block_columns : columns};
    const detail::group_range range = detail::range_of(values, area, columns);
    const float amax = range.amax_for(r.nonfinite);
    detail::group_scale s;
    if (r.per == granularity::nvfp4) {
      s = detail::nvfp4_group_scale(r, amax, global_encode, 6);
      if (r.four_over_six) {
        const detail::group_scale four = detail::nvfp4_group_scale(r, amax, global_encode, 4);
        const auto error = [&](const detail::group_scale& scale) {
          return detail::squared_error(r, f, scale, values, area, columns, q.global_decode_scale);
        };
        if (error(four) < error(s)) s = four;
      }
    } else if (r.per == granularity::mx) {
      s = detail::mx_group_scale(r, amax);
    } else if (f.kind == number_kind::integer) {
      s = detail::integer_scale(r, range);
    } else {
      s = detail::f32_scale(r, amax);
    }
    std::memcpy(q.scale_codes.data() + block * scale_bytes, &s.code, scale_bytes);  // little-endian
    q.decode_scales[block] = s.decode;
    if (r.zero_point) q.zero_points[block] = s.zero_point;
    detail::for_each_element(
        area, columns, [&](std::size_t at) { q.codes[at] = detail::element_code(r, f, s, values[at], at); });
  }
  return q;
}

// The values of a quantised matrix, row-major, rounded once to FP32.
inline void dequantize(const quantized& q, float* values) noexcept {
  for (std::size_t i = 0; i < q.rows; ++i) {
    for (std::size_t j = 0; j < q.columns; ++j) {
      values[i * q.columns + j] = detail::to_f32(detail::bits_of(q.value(i, j)));
    }
  }
}

// Largest magnitude, NaN left out: what delayed scaling records.
inline float amax_of(const float* values, std::size_t count) noexcept {
  std::uint32_t amax = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t magnitude = detail::bits_of(values[i]) & 0x7fffffffu;
    if (magnitude <= 0x7f800000u && magnitude > amax) amax = magnitude;
  }
  return detail::float_of(amax);
}

}  // namespace v1
}  // namespace numdiff
