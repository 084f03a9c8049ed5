#pragma once
// Walks of a view in row-major order: memory, global indices, scale groups and visibility, each on its own
// and each coalesced as far as it goes.
#include <cstddef>
#include <cstdint>
#include <limits>

#include "numdiff/detail/runtime/observe_input.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline constexpr int observe_max_rank = 9;  // eight dimensions and the parts of complex numbers

// Row-major shape of what is observed: parts are a last dimension of 2.
struct observed_shape {
  int rank = 0;
  std::int64_t extent[observe_max_rank] = {};
  std::int64_t count = 1;
};

inline observed_shape shape_of(const strided_codes& t) noexcept {
  observed_shape s;
  for (std::uint32_t d = 0; d < t.rank; ++d) s.extent[s.rank++] = t.extent[d];
  if (is_complex(t.type)) s.extent[s.rank++] = 2;
  for (int d = 0; d < s.rank; ++d) s.count *= s.extent[d];
  return s;
}

// Offsets of a strided array in row-major order, as runs of equal steps.
class strided_walk {
 public:
  struct run {
    std::int64_t offset, step, length;
  };

  void start(int rank, const std::int64_t* extent, const std::int64_t* stride, std::int64_t offset) noexcept {
    rank_ = 0;
    for (int d = 0; d < rank; ++d) {
      if (extent[d] == 1) continue;
      if (rank_ > 0 && stride_[rank_ - 1] == stride[d] * extent[d]) {
        extent_[rank_ - 1] *= extent[d];
        stride_[rank_ - 1] = stride[d];
      } else {
        extent_[rank_] = extent[d];
        stride_[rank_++] = stride[d];
      }
    }
    if (rank_ == 0) {
      extent_[0] = 1;
      stride_[0] = 1;
      rank_ = 1;
    }
    for (int d = 0; d < rank_; ++d) at_[d] = 0;
    offset_ = offset;
  }

  // The next run, of at most `most` elements; the caller stops at the end of the array.
  run next(std::int64_t most) noexcept {
    const int last = rank_ - 1;
    const std::int64_t rest = extent_[last] - at_[last];
    const run r{offset_, stride_[last], most < rest ? most : rest};
    at_[last] += r.length;
    offset_ += r.length * stride_[last];
    for (int d = last; d > 0 && at_[d] == extent_[d]; --d) {
      offset_ += stride_[d - 1] - extent_[d] * stride_[d];
      at_[d] = 0;
      ++at_[d - 1];
    }
    return r;
  }

 private:
  int rank_ = 0;
  std::int64_t extent_[observe_max_rank] = {};
  std::int64_t stride_[observe_max_rank] = {};
  std::int64_t at_[observe_max_rank] = {};
  std::int64_t offset_ = 0;
};

// A stretch of elements whose global indices count up by one; global is -1 for padding.
struct global_run {
  std::int64_t global, length;
};

class global_walk {
 public:
  void start(const observed_shape& shape, const global_map& map, bool complex) noexcept {
    map_ = &map;
    parts_ = complex ? 2 : 1;
    done_ = 0;
    left_ = 0;
    inner_left_ = 0;
    if (map.is != global_map::kind::box) return;
    const int rank = complex ? shape.rank - 1 : shape.rank;
    std::int64_t stride[observe_max_rank];
    std::int64_t step = parts_;
    std::int64_t begin = 0;
    for (int d = rank; d-- > 0;) {
      stride[d] = step;
      begin += d == map.ids_dimension ? 0 : map.begin[d] * step;
      step *= map.global_extent[d] > 0 ? map.global_extent[d] : shape.extent[d];
    }
    if (complex) stride[rank] = 1;
    const int split = map.ids_dimension;
    by_ids_ = split >= 0 && map.ids != nullptr;
    if (!by_ids_) {
      inner_.start(shape.rank, shape.extent, stride, begin);
      inner_left_ = shape.count;
      return;
    }
    outer_.start(split, shape.extent, stride, begin);
    ids_count_ = shape.extent[split];
    ids_stride_ = stride[split];
    ids_at_ = ids_count_;
    inner_rank_ = shape.rank - split - 1;
    inner_count_ = 1;
    for (int d = 0; d < inner_rank_; ++d) {
      inner_extent_[d] = shape.extent[split + 1 + d];
      inner_stride_[d] = stride[split + 1 + d];
      inner_count_ *= inner_extent_[d];
    }
  }

  global_run next(std::int64_t most) noexcept {
    global_run r{};
    switch (map_->is) {
      case global_map::kind::local: r = {done_, most}; break;
      case global_map::kind::flat: r = next_flat(most); break;
      case global_map::kind::box: r = next_box(most); break;
    }
    done_ += r.length;
    return r;
  }

 private:
  global_run next_flat(std::int64_t most) const noexcept {
    std::int64_t gap = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < map_->segment_count; ++i) {
      const flat_segment& s = map_->segments[i];
      const std::int64_t begin = s.local_begin * parts_;
      const std::int64_t length = s.length * parts_;
      if (done_ >= begin && done_ < begin + length) {
        const std::int64_t rest = begin + length - done_;
        return {s.global_begin * parts_ + done_ - begin, rest < most ? rest : most};
      }
      if (begin > done_ && begin - done_ < gap) gap = begin - done_;
    }
    return {-1, gap < most ? gap : most};
  }

  global_run next_box(std::int64_t most) noexcept {
    if (left_ == 0) {
      if (inner_left_ == 0) next_id();
      if (padding_) {
        const std::int64_t length = inner_left_ < most ? inner_left_ : most;
        inner_left_ -= length;
        return {-1, length};
      }
      const strided_walk::run r = inner_.next(inner_left_);
      at_ = r.offset;
      step_ = r.step;
      left_ = r.length;
      inner_left_ -= r.length;
    }
    const std::int64_t length = step_ == 1 ? (left_ < most ? left_ : most) : 1;
    const global_run r{at_, length};
    at_ += length * step_;
    left_ -= length;
    return r;
  }

  void next_id() noexcept {
    if (ids_at_ == ids_count_) {
      outer_at_ = outer_.next(1).offset;
      ids_at_ = 0;
    }
    const std::int64_t id = map_->ids[ids_at_++];
    padding_ = id < 0;
    inner_.start(inner_rank_, inner_extent_, inner_stride_, outer_at_ + (padding_ ? 0 : id) * ids_stride_);
    inner_left_ = inner_count_;
  }

  const global_map* map_ = nullptr;
  std::int64_t parts_ = 1;
  std::int64_t done_ = 0;
  strided_walk inner_;
  std::int64_t inner_left_ = 0;
  std::int64_t at_ = 0, step_ = 1, left_ = 0;
  bool by_ids_ = false;
  bool padding_ = false;
  strided_walk outer_;
  std::int64_t outer_at_ = 0;
  std::int64_t ids_at_ = 0, ids_count_ = 0, ids_stride_ = 0;
  int inner_rank_ = 0;
  std::int64_t inner_count_ = 1;
  std::int64_t inner_extent_[observe_max_rank] = {};
  std::int64_t inner_stride_[observe_max_rank] = {};
};

// Sets visible[i] to 0 for hidden elements of the next n.
class visibility_walk {
 public:
  void start(const observed_shape& shape, const hidden_elements& hidden, bool complex) noexcept {
    hidden_ = &hidden;
    parts_ = complex ? 2 : 1;
    done_ = 0;
    inner_ = 1;
    for (int d = 2; d < shape.rank; ++d) inner_ *= shape.extent[d];
    row_ = shape.rank > 1 ? shape.extent[1] * inner_ : 1;
  }

  void next(std::int64_t n, unsigned char* visible) noexcept {
    if (hidden_->visible) {
      for (std::int64_t i = 0; i < n; ++i) {
        if (hidden_->visible[(done_ + i) / parts_] == 0) visible[i] = 0;
      }
    } else if (hidden_->lengths) {
      for (std::int64_t i = 0; i < n;) {
        const std::int64_t row = (done_ + i) / row_;
        const std::int64_t from = (done_ + i) % row_;
        const std::int64_t end = n - i < row_ - from ? n - i : row_ - from;
        const std::int64_t shown = hidden_->lengths[row] * inner_ - from;
        for (std::int64_t j = shown > 0 ? shown : 0; j < end; ++j) visible[i + j] = 0;
        i += end;
      }
    }
    done_ += n;
  }

 private:
  const hidden_elements* hidden_ = nullptr;
  std::int64_t parts_ = 1, done_ = 0, inner_ = 1, row_ = 1;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
