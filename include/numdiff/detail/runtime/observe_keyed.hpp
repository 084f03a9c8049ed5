#pragma once
// Digest and sketch of runs of elements with consecutive global indices: the sums of digest.hpp and
// sketch.hpp with the key of a block taken out of the loop.
#include <cstdint>

#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/digest.hpp"
#include "numdiff/detail/runtime/observe_lanes.hpp"
#include "numdiff/detail/sketch.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct digest_tables {
  std::uint64_t key[3][256];
};

inline const digest_tables& place_keys() noexcept {
  static const digest_tables tables = [] {
    digest_tables t{};
    for (int k = 0; k < 3; ++k) {
      for (std::uint64_t place = 0; place < 256; ++place) t.key[k][place] = digest_place_key(k, place);
    }
    return t;
  }();
  return tables;
}

// Adds n elements of one block of 256, whose place keys begin at key0, key1 and key2, to the block's sums.
template <class Word>
NUMDIFF_DETAIL_ALWAYS_INLINE void add_block_body(const Word* codes, int n, const std::uint64_t* key0,
                                                 const std::uint64_t* key1, const std::uint64_t* key2,
                                                 std::uint64_t* sum) noexcept {
  typename word_lanes<sizeof(Word)>::eight code;
  u64x8 a = {}, b = {}, keys;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_memcpy(&code, codes + i, sizeof code);
    const u64x8 word = __builtin_convertvector(code, u64x8);
    const u64x8 low = word & 0xffffffffU;
    const u64x8 low_turned = ((low << 16) | (low >> 16)) & 0xffffffffU;
    __builtin_memcpy(&keys, key0 + i, sizeof keys);
    a += keys * low;
    __builtin_memcpy(&keys, key1 + i, sizeof keys);
    b += keys * low_turned;
    if constexpr (sizeof(Word) == 8) {
      const u64x8 high = word >> 32;
      a += keys * high;
      __builtin_memcpy(&keys, key2 + i, sizeof keys);
      b += keys * (((high << 16) | (high >> 16)) & 0xffffffffU);
    }
  }
  for (int k = 0; k < 8; ++k) {
    sum[0] += a[k];
    sum[1] += b[k];
  }
  for (; i < n; ++i) {
    const std::uint64_t word = codes[i];
    const auto low = static_cast<std::uint32_t>(word);
    const auto high = static_cast<std::uint32_t>(word >> 32);
    sum[0] += key0[i] * low + key1[i] * high;
    sum[1] += key1[i] * digest_swap_halves(low) + key2[i] * digest_swap_halves(high);
  }
}
NUMDIFF_DETAIL_CLONES(template <class Word>, void, add_block,
                      (const Word* codes, int n, const std::uint64_t* key0, const std::uint64_t* key1,
                       const std::uint64_t* key2, std::uint64_t* sum),
                      (codes, n, key0, key1, key2, sum))

template <class Word>
inline void add_digest(const Word* codes, std::int64_t n, std::uint64_t g, const digest_tables& tables,
                       digest& d) noexcept {
  while (n > 0) {
    const std::uint64_t place = g % 256;
    const int length =
        n < static_cast<std::int64_t>(256 - place) ? static_cast<int>(n) : static_cast<int>(256 - place);
    std::uint64_t sum[2] = {0, 0};
    add_block(codes, length, tables.key[0] + place, tables.key[1] + place, tables.key[2] + place, sum);
    d.sum[0] += digest_block_key(0, g / 256) * sum[0];
    d.sum[1] += digest_block_key(1, g / 256) * sum[1];
    codes += length;
    g += static_cast<std::uint64_t>(length);
    n -= length;
  }
}

// Adds n values of one block of 256 to lanes that begin at `to`, minus where a bit of `signs`, from bit `bit`
// of its first word on, is set.
NUMDIFF_DETAIL_ALWAYS_INLINE void add_lanes_body(const double* values, int n, const std::uint64_t* signs,
                                                 std::uint64_t bit, double* to) noexcept {
  const u64x8 up = {63, 62, 61, 60, 59, 58, 57, 56};
  f64x8 lanes;
  u64x8 x;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    const std::uint64_t at = bit + static_cast<std::uint64_t>(i);
    const std::uint64_t low = signs[at / 64] >> (at % 64);
    const std::uint64_t eight = at % 64 == 0 ? low : low | (signs[at / 64 + 1] << (64 - at % 64));
    const u64x8 minus = ((u64x8{} + eight) << up) & (std::uint64_t{1} << 63);
    __builtin_memcpy(&x, values + i, sizeof x);
    __builtin_memcpy(&lanes, to + i, sizeof lanes);
    x ^= minus;
    f64x8 terms;
    __builtin_memcpy(&terms, &x, sizeof terms);
    lanes += terms;
    __builtin_memcpy(to + i, &lanes, sizeof lanes);
  }
  for (; i < n; ++i) {
    const std::uint64_t at = bit + static_cast<std::uint64_t>(i);
    to[i] += double_of(bits_of(values[i]) ^ ((signs[at / 64] >> (at % 64)) << 63));
  }
}
NUMDIFF_DETAIL_CLONES(, void, add_lanes,
                      (const double* values, int n, const std::uint64_t* signs, std::uint64_t bit,
                       double* to),
                      (values, n, signs, bit, to))

struct sketch_lanes {
  double lane[2 * sketch_buckets] = {};

  void add(const double* values, std::int64_t n, std::uint64_t g) noexcept {
    while (n > 0) {
      const std::uint64_t place = g % 256;
      const int length =
          n < static_cast<std::int64_t>(256 - place) ? static_cast<int>(n) : static_cast<int>(256 - place);
      std::uint64_t signs[6];
      const std::uint64_t words = (g % 64 + static_cast<std::uint64_t>(length) + 63) / 64;
      for (std::uint64_t w = 0; w < words; ++w) signs[w] = sketch_signs(g / 64 + w);
      signs[words] = 0;
      add_lanes(values, length, signs, g % 64, lane + sketch_lane(g));
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
