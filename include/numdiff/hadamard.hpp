#pragma once
// The 16-point random Hadamard transform of NVFP4 recipes: H = S * H16 / 4 on each group of 16 elements.
#include <cstddef>
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/f32.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Sums in double, a butterfly of four stages.
NUMDIFF_HD constexpr void butterfly16(double* x) noexcept {
  for (int half = 1; half < 16; half *= 2) {
    for (int i = 0; i < 16; ++i) {
      if (i & half) continue;
      const double sum = x[i] + x[i + half];
      const double difference = x[i] - x[i + half];
      x[i] = sum;
      x[i + half] = difference;
    }
  }
}

}  // namespace detail

// In place; bit i of `signs` flips element i of each group before the transform. Sums in double, one rounding
// to FP32 at the end.
NUMDIFF_HD constexpr void hadamard16(float* x, std::size_t groups, std::uint16_t signs = 0) noexcept {
  for (std::size_t g = 0; g < groups; ++g, x += 16) {
    double y[16] = {};
    for (int i = 0; i < 16; ++i)
      y[i] = signs >> i & 1 ? -static_cast<double>(x[i]) : static_cast<double>(x[i]);
    detail::butterfly16(y);
    for (int i = 0; i < 16; ++i) x[i] = detail::to_f32(detail::bits_of(y[i] * 0.25));
  }
}

// Its inverse: H16 is its own, the signs come last.
NUMDIFF_HD constexpr void inverse_hadamard16(float* x, std::size_t groups, std::uint16_t signs = 0) noexcept {
  for (std::size_t g = 0; g < groups; ++g, x += 16) {
    double y[16] = {};
    for (int i = 0; i < 16; ++i) y[i] = static_cast<double>(x[i]);
    detail::butterfly16(y);
    for (int i = 0; i < 16; ++i) {
      x[i] = detail::to_f32(detail::bits_of((signs >> i & 1 ? -y[i] : y[i]) * 0.25));
    }
  }
}

}  // namespace v1
}  // namespace numdiff
