#pragma once
// The digest of a tensor's codes: two 64-bit sums over its elements, equal for any order, split or
// device. This is the definition, element by element; docs/file_format.md publishes it with vectors.
#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr std::uint32_t digest_version = 1;

// Output number `index`, from 0, of SplitMix64 (Steele, Lea, Flood 2014) seeded with `seed`.
constexpr std::uint64_t split_mix(std::uint64_t seed, std::uint64_t index) noexcept {
  std::uint64_t z = seed + (index + 1) * 0x9e3779b97f4a7c15U;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

// Seeds: the hexadecimal digits of pi after the point, 16 at a time.
inline constexpr std::uint64_t digest_place_seed[3] = {0x243f6a8885a308d3U, 0x13198a2e03707344U,
                                                       0xa4093822299f31d0U};
inline constexpr std::uint64_t digest_block_seed[2] = {0x082efa98ec4e6c89U, 0x452821e638d01377U};

struct digest {
  std::uint64_t sum[2] = {0, 0};
};

constexpr digest operator+(digest a, digest b) noexcept {
  return {{a.sum[0] + b.sum[0], a.sum[1] + b.sum[1]}};
}
constexpr bool operator==(digest a, digest b) noexcept {
  return a.sum[0] == b.sum[0] && a.sum[1] == b.sum[1];
}
constexpr bool operator!=(digest a, digest b) noexcept {
  return !(a == b);
}

// Key of block g / 256 and key of place g mod 256. All keys are odd, so that a change of one element
// always shows; an element's key is their product, so that no pattern of rows and columns cancels.
constexpr std::uint64_t digest_block_key(int sum, std::uint64_t block) noexcept {
  return split_mix(digest_block_seed[sum], block) | 1U;
}
constexpr std::uint64_t digest_place_key(int table, std::uint64_t place) noexcept {
  return split_mix(digest_place_seed[table], place) | 1U;
}
constexpr std::uint32_t digest_swap_halves(std::uint32_t word) noexcept {
  return (word << 16) | (word >> 16);
}

// What one element adds. `bits` is its code, zero-extended; `g` its row-major global index.
constexpr digest digest_of(std::uint64_t g, std::uint64_t bits) noexcept {
  const auto low = static_cast<std::uint32_t>(bits);
  const auto high = static_cast<std::uint32_t>(bits >> 32);
  const std::uint64_t place = g % 256;
  const std::uint64_t first = digest_place_key(0, place) * low + digest_place_key(1, place) * high;
  const std::uint64_t second = digest_place_key(1, place) * digest_swap_halves(low) +
                               digest_place_key(2, place) * digest_swap_halves(high);
  return {{digest_block_key(0, g / 256) * first, digest_block_key(1, g / 256) * second}};
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
