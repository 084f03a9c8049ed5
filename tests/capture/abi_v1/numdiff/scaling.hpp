#pragma once
// How codes become values: value = (code - zero point) * decode scale.
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/dtype.hpp"
#include "numdiff/storage.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

// A description of the scales of a view; it owns nothing. Made by the functions below:
//   numdiff::scale_block(1, 128, scales).encode()
class scaling {
 public:
  constexpr scaling(numdiff::granularity granularity, const void* scales, numdiff::dtype type) noexcept {
    raw_.scales = scales;
    raw_.granularity = static_cast<std::uint16_t>(granularity);
    raw_.scale_dtype = static_cast<std::uint16_t>(type);
    raw_.global = 1;
    raw_.axis = -1;
  }

  // value = code * scale (the default), or code = round(value * scale): as the program has it.
  [[nodiscard]] constexpr scaling decode() const noexcept { return direction(scale_direction::decode); }
  [[nodiscard]] constexpr scaling encode() const noexcept { return direction(scale_direction::encode); }
  // The scales' dtype, when the pointer does not say it.
  [[nodiscard]] constexpr scaling type(numdiff::dtype t) const noexcept {
    scaling s = *this;
    s.raw_.scale_dtype = static_cast<std::uint16_t>(t);
    return s;
  }
  // Dimension along which blocks of mx and nvfp4 run; -1, the default, is the last.
  [[nodiscard]] constexpr scaling axis(int dimension) const noexcept {
    scaling s = *this;
    s.raw_.axis = dimension;
    return s;
  }
  // One zero point for each scale.
  [[nodiscard]] constexpr scaling zero_point(const void* codes, numdiff::dtype t) const noexcept {
    scaling s = *this;
    s.raw_.zero_points = codes;
    s.raw_.zero_point_dtype = static_cast<std::uint16_t>(t);
    return s;
  }
  // Scales and zero points are in device memory.
  [[nodiscard]] constexpr scaling on_device() const noexcept {
    scaling s = *this;
    s.raw_.memory = static_cast<std::uint16_t>(memory_space::cuda);
    return s;
  }
  // Values were transformed before the cast ("hadamard16"); recorded, not undone. The text must
  // outlive the probe.
  [[nodiscard]] constexpr scaling transform(const char* name) const noexcept {
    scaling s = *this;
    s.raw_.transform = name;
    return s;
  }
  [[nodiscard]] constexpr scaling layout(scale_layout l) const noexcept {
    scaling s = *this;
    s.raw_.layout = static_cast<std::uint16_t>(l);
    return s;
  }
  // How the scale itself was rounded to its dtype.
  [[nodiscard]] constexpr scaling rounded(numdiff::rounding r) const noexcept {
    scaling s = *this;
    s.raw_.rounding = static_cast<std::uint16_t>(r);
    return s;
  }
  [[nodiscard]] constexpr scaling block(int rows, int columns) const noexcept {
    scaling s = *this;
    s.raw_.block[0] = rows;
    s.raw_.block[1] = columns;
    return s;
  }
  [[nodiscard]] constexpr scaling global(double scale) const noexcept {
    scaling s = *this;
    s.raw_.global = scale;
    return s;
  }

  [[nodiscard]] constexpr const numdiff_scaling_v1& raw() const noexcept { return raw_; }

 private:
  [[nodiscard]] constexpr scaling direction(scale_direction d) const noexcept {
    scaling s = *this;
    s.raw_.direction = static_cast<std::uint16_t>(d);
    return s;
  }

  numdiff_scaling_v1 raw_{};
};

// One scale for the whole tensor.
template <class T>
[[nodiscard]] constexpr scaling scale_per_tensor(const T* scale) noexcept {
  return {granularity::tensor, scale, dtype_of_v<T>};
}
// One scale for each index of dimension 0.
template <class T>
[[nodiscard]] constexpr scaling scale_per_row(const T* scales) noexcept {
  return {granularity::row, scales, dtype_of_v<T>};
}
// One scale for each index of the last dimension.
template <class T>
[[nodiscard]] constexpr scaling scale_per_column(const T* scales) noexcept {
  return {granularity::column, scales, dtype_of_v<T>};
}
// Blocks of rows x columns over the last two dimensions, row-major over blocks, the last block of a
// dimension may be short.
template <class T>
[[nodiscard]] constexpr scaling scale_block(int rows, int columns, const T* scales) noexcept {
  return scaling(granularity::block, scales, dtype_of_v<T>).block(rows, columns);
}
// OCP MX: one E8M0 code for 32 elements along `axis`.
[[nodiscard]] constexpr scaling scale_mx(const void* e8m0) noexcept {
  return {granularity::mx, e8m0, dtype::f8e8m0fnu};
}
// NVFP4: one UE4M3 code for 16 elements along `axis`, times one scale of the tensor.
[[nodiscard]] constexpr scaling scale_nvfp4(const void* ue4m3, double global) noexcept {
  return scaling(granularity::nvfp4, ue4m3, dtype::ue4m3).global(global);
}

}  // namespace v1
}  // namespace numdiff
