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

// Octave of |x| / largest, both finite and nonzero, |x| <= largest; never below -1074.
inline int relative_octave(double x, double largest) noexcept {
  constexpr std::uint64_t fraction = low_mask(52);
  const double normal = std::numeric_limits<double>::min();
  const double lift = power_of_two(64);
  const double a = std::fabs(x) < normal ? std::fabs(x) * lift : std::fabs(x);
  const double b = largest < normal ? largest * lift : largest;
  const int lifted = (std::fabs(x) < normal ? 64 : 0) - (largest < normal ? 64 : 0);
  const int octave = octave_of_bits(bits_of(a)) - octave_of_bits(bits_of(b)) - lifted -
                     ((bits_of(a) & fraction) < (bits_of(b) & fraction) ? 1 : 0);
  return octave < -1074 ? -1074 : octave;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
