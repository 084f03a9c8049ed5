#pragma once
// The sketch of a tensor: 256 signed sums of its values, linear in them, keyed by the global index (a
// count sketch; Charikar, Chen, Farach-Colton 2002). docs/file_format.md publishes it with vectors.
#include <cstdint>

#include "numdiff/detail/digest.hpp"
#include "numdiff/detail/rows.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t sketch_version = 1;
inline constexpr std::uint64_t sketch_rotation_seed = 0xbe5466cf34e90c6cU;
inline constexpr std::uint64_t sketch_sign_seed = 0xc0ac29b7c97c50ddU;

// How far the buckets of block g / 256 are turned. Without it a column of a matrix whose width is a
// multiple of 256 would fall into one bucket.
constexpr std::uint64_t sketch_rotation(std::uint64_t block) noexcept {
  return split_mix(sketch_rotation_seed, block) >> 56;
}
// Signs of the elements 64 word ... 64 word + 63, lowest bit first; 1 is minus.
constexpr std::uint64_t sketch_signs(std::uint64_t word) noexcept {
  return split_mix(sketch_sign_seed, word);
}

// Sums are kept in 512 lanes, each added in row-major order of the view, starting from 0; bucket i is
// lane i + lane i + 256. This fixes every rounding.
constexpr std::uint64_t sketch_lane(std::uint64_t g) noexcept {
  return g % 256 + sketch_rotation(g / 256);
}
constexpr bool sketch_is_negative(std::uint64_t g) noexcept {
  return ((sketch_signs(g / 64) >> (g % 64)) & 1U) != 0;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
