#pragma once
// The scaling of a view: how many scales it has, in linear order, and the text that describes it.
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/json.hpp"
#include "numdiff/detail/runtime/observe_input.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline const char* granularity_name(std::uint16_t g) noexcept {
  constexpr const char* names[] = {"none", "tensor", "row", "column", "block", "mx", "nvfp4"};
  return g < 7 ? names[g] : "unknown";
}

inline const char* rounding_name(std::uint16_t r) noexcept {
  constexpr const char* names[] = {"unknown", "nearest_even", "toward_zero", "stochastic", "up"};
  return r < 5 ? names[r] : "unknown";
}

inline std::int32_t scaling_axis(const numdiff_view_v1& v) noexcept {
  return v.scaling.axis < 0 ? static_cast<std::int32_t>(v.rank) - 1 : v.scaling.axis;
}

// Blocks of the view, row-major: `blocks[d]` along each dimension. False when they make no sense.
struct view_scales {
  std::int64_t blocks[numdiff_max_rank] = {};
  std::int64_t count = 1;
};
inline bool find_grid(const numdiff_view_v1& v, view_scales& grid) noexcept {
  const numdiff_scaling_v1& s = v.scaling;
  const auto last = static_cast<std::int32_t>(v.rank) - 1;
  const std::int32_t axis = scaling_axis(v);
  for (std::int32_t d = 0; d <= last; ++d) {
    std::int64_t block = v.extent[d] > 0 ? v.extent[d] : 1;
    switch (static_cast<granularity>(s.granularity)) {
      case granularity::row:
        if (d == 0) block = 1;
        break;
      case granularity::column:
        if (d == last) block = 1;
        break;
      case granularity::block: block = d >= last - 1 ? s.block[d == last ? 1 : 0] : 1; break;
      case granularity::mx: block = d == axis ? 32 : 1; break;
      case granularity::nvfp4: block = d == axis ? 16 : 1; break;
      case granularity::none:
      case granularity::tensor: break;
      default: return false;
    }
    if (block < 1) return false;
    const std::int64_t whole = v.extent[d] / block;
    grid.blocks[d] = whole + (v.extent[d] % block != 0 ? 1 : 0);
    grid.count *= grid.blocks[d];
  }
  const auto g = static_cast<granularity>(s.granularity);
  if (g == granularity::tensor) grid.count = 1;
  if ((g == granularity::row || g == granularity::column) && v.rank < 1) return false;
  if (g == granularity::block && v.rank < 2) return false;
  if ((g == granularity::mx || g == granularity::nvfp4) && (axis < 0 || axis > last)) return false;
  return true;
}

// Blocks in the order in which they lie.
inline view_scales as_they_lie(const numdiff_view_v1& v, const view_scales& grid) noexcept {
  view_scales lying = grid;
  if (v.scaling.turned != 0 && v.rank >= 2) {
    lying.blocks[v.rank - 1] = grid.blocks[v.rank - 2];
    lying.blocks[v.rank - 2] = grid.blocks[v.rank - 1];
  }
  return lying;
}

// Bytes that the scales of a view occupy: swizzled ones are padded to tiles of 128 x 4.
inline std::int64_t scale_bytes(const numdiff_view_v1& v, const view_scales& grid) noexcept {
  const auto width = static_cast<std::int64_t>(bytes_of(static_cast<dtype>(v.scaling.scale_dtype)));
  if (static_cast<scale_layout>(v.scaling.layout) != scale_layout::swizzled) return grid.count * width;
  const std::int64_t columns = as_they_lie(v, grid).blocks[v.rank - 1];
  const std::int64_t rows = columns == 0 ? 0 : grid.count / columns;
  return (rows + 127) / 128 * 128 * ((columns + 3) / 4 * 4) * width;
}

// Scales of one byte each from tiles of 128 x 4, in which row r and column c stand at
// r % 32 * 16 + r / 32 * 4 + c, without the padding.
inline void unswizzle(const unsigned char* from, const numdiff_view_v1& v, const view_scales& grid,
                      std::vector<unsigned char>& to) {
  const std::int64_t columns = as_they_lie(v, grid).blocks[v.rank - 1];
  const std::int64_t tiles = (columns + 3) / 4;
  to.resize(static_cast<std::size_t>(grid.count));
  for (std::int64_t i = 0; i < grid.count; ++i) {
    const std::int64_t r = i / columns, c = i % columns;
    const std::int64_t tile = r / 128 * tiles + c / 4;
    const std::int64_t row = r % 128;
    to[static_cast<std::size_t>(i)] = from[tile * 512 + row % 32 * 16 + row / 32 * 4 + c % 4];
  }
}

// Codes of `width` bytes for every block, in the order of the view.
inline void turn_back(const unsigned char* from, std::size_t width, const numdiff_view_v1& v,
                      const view_scales& grid, std::vector<unsigned char>& to) {
  const auto rows = static_cast<std::size_t>(grid.blocks[v.rank - 2]);
  const auto columns = static_cast<std::size_t>(grid.blocks[v.rank - 1]);
  to.resize(static_cast<std::size_t>(grid.count) * width);
  for (std::size_t i = 0; i < static_cast<std::size_t>(grid.count); ++i) {
    const std::size_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
    std::memcpy(to.data() + i * width, from + ((matrix * columns + c) * rows + r) * width, width);
  }
}

// What scales are copied to that do not lie in the order of the view's blocks.
struct linear_copies {
  std::vector<unsigned char> tiles, scales, zero_points;
};
// False for scales that cannot lie as the view says.
inline bool in_linear_order(const numdiff_view_v1& v, const view_scales& grid, linear_copies& copies,
                            scale_groups& scales) {
  if (static_cast<scale_layout>(v.scaling.layout) == scale_layout::swizzled) {
    if (v.rank < 1 || bytes_of(scales.type) != 1) return false;
    unswizzle(static_cast<const unsigned char*>(scales.scales), v, grid, copies.tiles);
    scales.scales = copies.tiles.data();
  }
  if (v.scaling.turned == 0) return true;
  if (v.rank < 2) return false;
  const auto turn = [&](const void* codes, dtype type, std::vector<unsigned char>& to) {
    turn_back(static_cast<const unsigned char*>(codes), bytes_of(type), v, grid, to);
    return to.data();
  };
  scales.scales = turn(scales.scales, scales.type, copies.scales);
  if (scales.zero_points != nullptr)
    scales.zero_points = turn(scales.zero_points, scales.zero_point_type, copies.zero_points);
  return true;
}

inline std::string scaling_json(const numdiff_view_v1& v) {
  const numdiff_scaling_v1& s = v.scaling;
  const auto g = static_cast<granularity>(s.granularity);
  if (g == granularity::none) return {};
  std::string json = "{";
  append_key(json, "granularity");
  append_quoted(json, granularity_name(s.granularity));
  if (g == granularity::block) {
    const std::int64_t block[2] = {s.block[0], s.block[1]};
    append_key(json, "block");
    append_list(json, block, 2);
  }
  if (g == granularity::mx || g == granularity::nvfp4) {
    append_key(json, "axis");
    append_number(json, std::int64_t{scaling_axis(v)});
  }
  append_key(json, "direction");
  append_quoted(json,
                static_cast<scale_direction>(s.direction) == scale_direction::encode ? "encode" : "decode");
  append_key(json, "layout");
  append_quoted(json, "linear");
  if (s.rounding != 0) {
    append_key(json, "rounding");
    append_quoted(json, rounding_name(s.rounding));
  }
  if (g == granularity::nvfp4) {
    append_key(json, "global");
    append_number(json, s.global);
  }
  if (s.transform != nullptr && *s.transform != '\0') {
    append_key(json, "transform");
    append_quoted(json, s.transform);
  }
  return json + '}';
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
