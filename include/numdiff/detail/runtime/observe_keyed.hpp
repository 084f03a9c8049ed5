#pragma once
// Digest and sketch of runs of elements with consecutive global indices: the sums of digest.hpp and
// sketch.hpp with the key of a block taken out of the loop.
#include <cstdint>

#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/digest.hpp"
#include "numdiff/detail/sketch.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct digest_tables {
  // Halves of the place keys: 32-bit products are what vector units have.
  std::uint32_t low[3][256];
  std::uint32_t high[3][256];
};

inline const digest_tables& place_keys() noexcept {
  static const digest_tables tables = [] {
    digest_tables t{};
    for (int k = 0; k < 3; ++k) {
      for (std::uint64_t place = 0; place < 256; ++place) {
        const std::uint64_t key = digest_place_key(k, place);
        t.low[k][place] = static_cast<std::uint32_t>(key);
        t.high[k][place] = static_cast<std::uint32_t>(key >> 32);
      }
    }
    return t;
  }();
  return tables;
}

// Adds n elements of one block of 256, from place `place` on, to the block's sums.
template <class Word>
inline void add_block(const Word* codes, int n, std::uint64_t place, const digest_tables& t,
                      std::uint64_t (&sum)[2]) noexcept {
  const std::uint32_t* const low0 = t.low[0] + place;
  const std::uint32_t* const high0 = t.high[0] + place;
  const std::uint32_t* const low1 = t.low[1] + place;
  const std::uint32_t* const high1 = t.high[1] + place;
  std::uint64_t a = 0, a_high = 0, b = 0, b_high = 0;
  if constexpr (sizeof(Word) <= 4) {
    for (int i = 0; i < n; ++i) {
      const std::uint32_t word = codes[i];
      const std::uint64_t turned = digest_swap_halves(word);
      a += std::uint64_t{low0[i]} * word;
      a_high += std::uint64_t{high0[i]} * word;
      b += low1[i] * turned;
      b_high += high1[i] * turned;
    }
  } else {
    const std::uint32_t* const low2 = t.low[2] + place;
    const std::uint32_t* const high2 = t.high[2] + place;
    for (int i = 0; i < n; ++i) {
      const std::uint64_t low = codes[i] & 0xffffffffU;
      const std::uint64_t high = codes[i] >> 32;
      const std::uint64_t low_turned = digest_swap_halves(static_cast<std::uint32_t>(low));
      const std::uint64_t high_turned = digest_swap_halves(static_cast<std::uint32_t>(high));
      a += low0[i] * low + low1[i] * high;
      a_high += high0[i] * low + high1[i] * high;
      b += low1[i] * low_turned + low2[i] * high_turned;
      b_high += high1[i] * low_turned + high2[i] * high_turned;
    }
  }
  sum[0] += a + (a_high << 32);
  sum[1] += b + (b_high << 32);
}

template <class Word>
inline void add_digest(const Word* codes, std::int64_t n, std::uint64_t g, const digest_tables& tables,
                       digest& d) noexcept {
  while (n > 0) {
    const std::uint64_t place = g % 256;
    const int length =
        n < static_cast<std::int64_t>(256 - place) ? static_cast<int>(n) : static_cast<int>(256 - place);
    std::uint64_t sum[2] = {0, 0};
    add_block(codes, length, place, tables, sum);
    d.sum[0] += digest_block_key(0, g / 256) * sum[0];
    d.sum[1] += digest_block_key(1, g / 256) * sum[1];
    codes += length;
    g += static_cast<std::uint64_t>(length);
    n -= length;
  }
}

struct sketch_lanes {
  double lane[2 * sketch_buckets] = {};

  void add(const double* values, std::int64_t n, std::uint64_t g) noexcept {
    while (n > 0) {
      const std::uint64_t bit = g % 64;
      const int length =
          n < static_cast<std::int64_t>(64 - bit) ? static_cast<int>(n) : static_cast<int>(64 - bit);
      const std::uint64_t signs = sketch_signs(g / 64) >> bit;
      double* const to = lane + sketch_lane(g);
      for (int i = 0; i < length; ++i) {
        to[i] += double_of(bits_of(values[i]) ^ ((signs >> i) << 63));
      }
      values += length;
      g += static_cast<std::uint64_t>(length);
      n -= length;
    }
  }
  void fold(double (&bucket)[sketch_buckets]) const noexcept {
    for (int i = 0; i < sketch_buckets; ++i) bucket[i] = lane[i] + lane[i + sketch_buckets];
  }
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
