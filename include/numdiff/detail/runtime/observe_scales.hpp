#pragma once
// Scale groups of a view: which element belongs to which, their statistics and digests.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numdiff/detail/runtime/observe_keyed.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Code number i of a dense array of any real dtype.
inline std::uint64_t code_at(const void* codes, numdiff::dtype type, std::int64_t i) noexcept {
  std::uint64_t code = 0;
  const std::size_t size = bytes_of(type) < sizeof code ? bytes_of(type) : sizeof code;
  std::memcpy(&code, static_cast<const unsigned char*>(codes) + static_cast<std::size_t>(i) * size, size);
  return code;
}

class scale_grid {
 public:
  scale_grid(const observed_shape& shape, bool complex, const scale_groups& s) noexcept : scales_(s) {
    rank_ = shape.rank;
    const int real_rank = complex ? shape.rank - 1 : shape.rank;
    for (int d = 0; d < rank_; ++d) {
      extent_[d] = shape.extent[d];
      block_[d] = d < real_rank ? block_of(d, real_rank) : 0;
      if (block_[d] <= 0 || block_[d] > extent_[d]) block_[d] = extent_[d] > 0 ? extent_[d] : 1;
      blocks_[d] = (extent_[d] + block_[d] - 1) / block_[d];
      whole_[d] = d >= real_rank || block_of(d, real_rank) <= 0;
    }
    std::int64_t stride = 1;
    for (int d = rank_; d-- > 0;) {
      stride_[d] = stride;
      stride *= blocks_[d];
    }
    count_ = stride;
  }

  [[nodiscard]] std::int64_t count() const noexcept { return count_; }

  // value = (code - zero) * decode
  [[nodiscard]] double decode_scale(std::int64_t group) const noexcept {
    const double raw = numdiff::decode(scales_.type, code_at(scales_.scales, scales_.type, group));
    return (scales_.direction == scale_direction::encode ? 1 / raw : raw) * scales_.global;
  }
  // code = round(value * encode + zero)
  [[nodiscard]] double encode_scale(std::int64_t group) const noexcept {
    const double raw = numdiff::decode(scales_.type, code_at(scales_.scales, scales_.type, group));
    return scales_.direction == scale_direction::encode ? raw / scales_.global : 1 / (raw * scales_.global);
  }
  [[nodiscard]] double zero_point(std::int64_t group) const noexcept {
    return numdiff::decode(scales_.zero_point_type,
                           code_at(scales_.zero_points, scales_.zero_point_type, group));
  }

  void restart() noexcept {
    for (std::int64_t& at : at_) at = 0;
  }
  // Groups of the next n elements in row-major order.
  void next(int n, std::int64_t* group) noexcept {
    for (int i = 0; i < n;) {
      const int last = rank_ - 1;
      const std::int64_t in_block = rank_ ? block_[last] - at_[last] % block_[last] : 1;
      const std::int64_t in_line = rank_ ? extent_[last] - at_[last] : 1;
      std::int64_t length = in_block < in_line ? in_block : in_line;
      if (length > n - i) length = n - i;
      std::int64_t index = 0;
      for (int d = 0; d < rank_; ++d) index += at_[d] / block_[d] * stride_[d];
      for (std::int64_t j = 0; j < length; ++j) group[i + j] = index;
      i += static_cast<int>(length);
      if (rank_ == 0) return;
      at_[last] += length;
      for (int d = last; d > 0 && at_[d] == extent_[d]; --d) {
        at_[d] = 0;
        ++at_[d - 1];
      }
    }
  }

  // Digest of one code a group. Its index is that of the group in the grid of the global tensor where the
  // view is a box of whole groups, so that shards add up; else its index in the view.
  [[nodiscard]] digest codes_digest(const void* codes, numdiff::dtype type,
                                    const global_map& map) const noexcept {
    std::int64_t stride[observe_max_rank] = {};
    const std::int64_t first = global_strides(map, stride);
    strided_walk walk;
    walk.start(rank_, blocks_, stride, first);
    digest d;
    for (std::int64_t i = 0; i < count_;) {
      const strided_walk::run r = walk.next(count_ - i);
      for (std::int64_t j = 0; j < r.length; ++j, ++i) {
        d = d + digest_of(static_cast<std::uint64_t>(r.offset + j * r.step), code_at(codes, type, i));
      }
    }
    return d;
  }

  void statistics(scales_row& row) const noexcept {
    row.count = count_;
    row.zero = row.nan = row.infinite = 0;
    value_range range;
    for (std::int64_t i = 0; i < count_; ++i) {
      const double s = decode_scale(i);
      if (s != s) {
        ++row.nan;
      } else if (std::fabs(s) > std::numeric_limits<double>::max()) {
        ++row.infinite;
      } else {
        if (s == 0) ++row.zero;
        range.add(s);
      }
    }
    const double none = std::numeric_limits<double>::quiet_NaN();
    row.minimum = range.empty() ? none : range.minimum;
    row.maximum = range.empty() ? none : range.maximum;
  }

 private:
  // Extent of a group along dimension d; 0 the whole dimension.
  [[nodiscard]] std::int64_t block_of(int d, int rank) const noexcept {
    const int axis = scales_.axis < 0 ? rank - 1 : scales_.axis;
    switch (scales_.granularity) {
      case granularity::row: return d == 0 ? 1 : 0;
      case granularity::column: return d == rank - 1 ? 1 : 0;
      case granularity::block: return d == rank - 1 ? scales_.block[1] : d == rank - 2 ? scales_.block[0] : 1;
      case granularity::mx: return d == axis ? 32 : 1;
      case granularity::nvfp4: return d == axis ? 16 : 1;
      default: return 0;
    }
  }
  std::int64_t global_strides(const global_map& map, std::int64_t* stride) const noexcept {
    for (int d = 0; d < rank_; ++d) stride[d] = stride_[d];
    if (map.is != global_map::kind::box || map.ids_dimension >= 0) return 0;
    std::int64_t step = 1;
    std::int64_t first = 0;
    std::int64_t global[observe_max_rank] = {};
    for (int d = rank_; d-- > 0;) {
      const std::int64_t begin = d < 8 && !whole_[d] ? map.begin[d] : 0;
      const std::int64_t extent = d < 8 && map.global_extent[d] > 0 ? map.global_extent[d] : extent_[d];
      if (begin % block_[d] != 0) return 0;
      global[d] = step;
      first += begin / block_[d] * step;
      step *= whole_[d] ? 1 : (extent + block_[d] - 1) / block_[d];
    }
    for (int d = 0; d < rank_; ++d) stride[d] = global[d];
    return first;
  }

  const scale_groups& scales_;
  int rank_ = 0;
  std::int64_t count_ = 0;
  std::int64_t extent_[observe_max_rank] = {};
  std::int64_t block_[observe_max_rank] = {};
  std::int64_t blocks_[observe_max_rank] = {};
  std::int64_t stride_[observe_max_rank] = {};
  std::int64_t at_[observe_max_rank] = {};
  bool whole_[observe_max_rank] = {};
};

// Octave of magnitude / largest, both finite and positive, magnitude <= largest; never below -1074.
inline int relative_octave(double magnitude, double largest) noexcept {
  const double normal = std::numeric_limits<double>::min();
  int lifted = 0;
  if (magnitude < normal) {
    magnitude *= power_of_two(64);
    lifted = 64;
  }
  if (largest < normal) {
    largest *= power_of_two(64);
    lifted -= 64;
  }
  // One less than the difference of exponents where the dividend's significand is smaller.
  const std::uint64_t significand = bits_of(largest) & low_mask(52);
  const int octave = static_cast<int>((bits_of(magnitude) - significand) >> 52) -
                     static_cast<int>(bits_of(largest) >> 52) - lifted;
  return octave < -1074 ? -1074 : octave;
}

// Makes n values (value - zero) * scale; returns the largest magnitude, NaN when one is NaN.
NUMDIFF_DETAIL_ALWAYS_INLINE double scale_values_body(double* values, int n, double zero,
                                                      double scale) noexcept {
  i64x8 largest = {};
  f64x8 x;
  int i = 0;
  for (; i + 8 <= n; i += 8) {
    __builtin_memcpy(&x, values + i, sizeof x);
    x = (x - zero) * scale;
    __builtin_memcpy(values + i, &x, sizeof x);
    i64x8 bits;
    __builtin_memcpy(&bits, &x, sizeof bits);
    bits &= std::numeric_limits<std::int64_t>::max();
    largest = bits > largest ? bits : largest;
  }
  std::uint64_t most = 0;
  for (int k = 0; k < 8; ++k) {
    if (static_cast<std::uint64_t>(largest[k]) > most) most = static_cast<std::uint64_t>(largest[k]);
  }
  for (; i < n; ++i) {
    values[i] = (values[i] - zero) * scale;
    const std::uint64_t bits = bits_of(values[i]) & low_mask(63);
    if (bits > most) most = bits;
  }
  return double_of(most);
}
NUMDIFF_DETAIL_CLONES(, double, scale_values, (double* values, int n, double zero, double scale),
                      (values, n, zero, scale))

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
