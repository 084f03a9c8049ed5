#pragma once
// A tensor as its owner sees it: pointer, dtype, logical shape, strides, and what is known about it.
//
//   numdiff::view(a, {M, K})                                  // float* -> f32, row-major
//   numdiff::view(codes, numdiff::dtype::f8e4m3fn, {M, K}).scaled(numdiff::scale_block(1, 128, scales))
//   numdiff::view(w, {N, K}).transposed().shard("tp", 1)      // [K, N] in shape, N x K in memory
//
// A view owns nothing: what it points to must live until the probe returns. Texts and lists too.
// Chained calls return a new view. Mistakes (more than 8 dimensions, a dimension that is not
// there) make the probe refuse the view: it is counted, see session::statistics().
#include <cstddef>
#include <cstdint>
#include <initializer_list>

#include "numdiff/abi.h"
#include "numdiff/dtype.hpp"
#include "numdiff/extents.hpp"
#include "numdiff/placement.hpp"
#include "numdiff/ranges.hpp"
#include "numdiff/scaling.hpp"
#include "numdiff/storage.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

class view {
 public:
  // Row-major and dense; {} is one element (0 dimensions), an extent of 0 none.
  view(const void* data, numdiff::dtype type, const extents& shape) noexcept {
    raw_.struct_size = sizeof raw_;
    raw_.data = data;
    raw_.dtype = static_cast<std::uint16_t>(type);
    raw_.rank = shape.rank();
    if (raw_.rank > numdiff_max_rank) {
      raw_.rank = 0;
      raw_.flags = numdiff_view_invalid;
    }
    std::int64_t stride = 1;
    for (std::uint32_t i = raw_.rank; i-- > 0;) {
      raw_.extent[i] = shape[i];
      raw_.stride[i] = stride;
      if (shape[i] < 0 || __builtin_mul_overflow(stride, shape[i] > 1 ? shape[i] : 1, &stride)) {
        raw_.flags |= numdiff_view_invalid;
      }
    }
  }
  template <class T, class = std::enable_if_t<dtype_of_v<T> != dtype::unknown>>
  view(const T* data, const extents& shape) noexcept
      : view(static_cast<const void*>(data), dtype_of_v<T>, shape) {}

  // In elements; 0 repeats (an expanded dimension), negative runs backwards.
  [[nodiscard]] view strides(const extents& s) const noexcept {
    view v = *this;
    if (s.rank() != raw_.rank) v.raw_.flags |= numdiff_view_invalid;
    for (std::uint32_t i = 0; i < raw_.rank && i < s.rank(); ++i) v.raw_.stride[i] = s[i];
    return v;
  }
  // Swaps the last two dimensions, in what was said before of placement and scales, too: scales stay where
  // they lie. Names of axes and masks are those of the view they are given to.
  [[nodiscard]] view transposed() const noexcept {
    view v = *this;
    if (raw_.rank < 2) return v.invalid();
    const auto last = static_cast<std::int32_t>(raw_.rank) - 1;
    const auto turned = [last](std::int32_t d) { return d == last ? last - 1 : d == last - 1 ? last : d; };
    const auto swap = [last](std::int64_t* of) {
      const std::int64_t columns = of[last];
      of[last] = of[last - 1];
      of[last - 1] = columns;
    };
    swap(v.raw_.extent);
    swap(v.raw_.stride);
    swap(v.raw_.box_begin);
    if (raw_.flat_rank == 0) swap(v.raw_.global_extent);
    for (std::uint32_t i = 0; i < raw_.axis_count; ++i)
      v.raw_.mesh[i].dimension = turned(raw_.mesh[i].dimension);
    if (raw_.ids != nullptr || (raw_.flags & numdiff_view_ranges) != 0)
      v.raw_.ids_dimension = turned(raw_.ids_dimension);
    return v.turn_scales() ? v : v.invalid();
  }
  // 4-bit codes, two to a byte, low nibble first; strides count elements.
  [[nodiscard]] view packed() const noexcept { return flag(numdiff_view_packed); }
  // Device memory, read in order of this stream (needs numdiff/cuda.hpp).
  [[nodiscard]] view on(const void* stream) const noexcept {
    view v = *this;
    v.raw_.memory = static_cast<std::uint16_t>(memory_space::cuda);
    v.raw_.stream = const_cast<void*>(stream);
    return v;
  }
  [[nodiscard]] view scaled(const scaling& s) const noexcept {
    view v = *this;
    v.raw_.scaling = s.raw();
    return v;
  }

  // Placement: for each mesh axis (session::mesh) that matters, how the tensor lies along it.
  // Without any in a run of several ranks the tensor is rank-local.
  [[nodiscard]] view shard(const char* axis, int dimension) const noexcept {
    return place(axis, spread::sharded, dimension);
  }
  [[nodiscard]] view replicated(const char* axis) const noexcept {
    return place(axis, spread::replicated, -1);
  }
  [[nodiscard]] view partial(const char* axis, reduction r) const noexcept {
    return place(axis, partial_spread(r), -1);
  }
  // This rank holds [begin, begin + extent) of global_extent along `dimension` (uneven shards).
  [[nodiscard]] view box(int dimension, index begin, index global_extent) const noexcept {
    view v = *this;
    if (dimension < 0 || static_cast<std::uint32_t>(dimension) >= raw_.rank) return v.invalid();
    v.raw_.box_begin[dimension] = begin.value;
    v.raw_.global_extent[dimension] = global_extent.value;
    return v;
  }
  // This rank holds these stretches along `dimension`, of which one dimension may have more than one:
  // .shard("cp", 1, zigzag(sequence, size, rank)); see ranges.hpp.
  [[nodiscard]] view shard(const char* axis, int dimension, const index_ranges& held) const noexcept {
    return shard(axis, dimension).ranges(dimension, held.list, held.count, held.global);
  }
  // The same without an axis: any number of stretches, each right behind the one before; more than 8 must
  // outlive the probe.
  [[nodiscard]] view ranges(int dimension, const segment* held, std::size_t count,
                            index global_extent) const noexcept {
    if (global_extent.value < 0) return view(*this).invalid();
    view v = box(dimension, 0, global_extent).flag(numdiff_view_ranges);
    v.raw_.ids_dimension = dimension;
    v.raw_.segment_count = static_cast<std::uint32_t>(count);
    if (count > numdiff_max_segments) {
      v.raw_.more_segments = reinterpret_cast<const numdiff_segment_v1*>(held);
      return v;
    }
    for (std::size_t i = 0; i < count; ++i)
      v.raw_.segments[i] = {held[i].global_begin, held[i].local_begin, held[i].length};
    return v;
  }
  // The view is a flat piece of a tensor of shape `global`: up to 8 segments.
  [[nodiscard]] view flat(std::initializer_list<segment> segments,
                          const extents& global = {}) const noexcept {
    view v = *this;
    if (segments.size() > numdiff_max_segments || global.rank() > numdiff_max_rank) return v.invalid();
    for (const segment& s : segments) {
      v.raw_.segments[v.raw_.segment_count++] = {s.global_begin, s.local_begin, s.length};
    }
    return v.globally(global);
  }
  // The same with any number of segments, which must outlive the probe.
  [[nodiscard]] view flat(const segment* segments, std::size_t count,
                          const extents& global = {}) const noexcept {
    view v = *this;
    if (global.rank() > numdiff_max_rank) return v.invalid();
    v.raw_.more_segments = reinterpret_cast<const numdiff_segment_v1*>(segments);
    v.raw_.segment_count = static_cast<std::uint32_t>(count);
    return v.globally(global);
  }
  // Index i of `dimension` is index ids[i] of the global tensor (experts, vocabulary parts, tokens).
  [[nodiscard]] view ids(int dimension, const std::int64_t* ids, std::size_t count,
                         index global_extent) const noexcept {
    view v = box(dimension, 0, global_extent);
    v.raw_.ids = ids;
    v.raw_.ids_count = static_cast<std::int64_t>(count);
    v.raw_.ids_dimension = dimension;
    return v;
  }

  // Names of the dimensions ("b s h d"), so that permuted tensors are matched by axis.
  [[nodiscard]] view axes(const char* names) const noexcept {
    view v = *this;
    v.raw_.axes = names;
    return v;
  }
  [[nodiscard]] view usage(numdiff::usage u) const noexcept {
    view v = *this;
    v.raw_.usage = static_cast<std::uint16_t>(u);
    return v;
  }
  // Elements that mean nothing are counted as hidden and left out of everything else. One bool for each
  // element, row-major:
  [[nodiscard]] view visible(const bool* mask) const noexcept {
    view v = *this;
    v.raw_.visible = reinterpret_cast<const unsigned char*>(mask);
    return v;
  }
  // or lengths[i] visible indices of dimension 1 for each index i of dimension 0:
  [[nodiscard]] view visible_lengths(const std::int64_t* lengths) const noexcept {
    view v = *this;
    if (raw_.rank < 2) return v.invalid();
    v.raw_.visible_lengths = lengths;
    return v;
  }
  // or every element equal to a fill value:
  [[nodiscard]] view hidden_value(double fill) const noexcept {
    view v = flag(numdiff_view_has_hidden);
    v.raw_.hidden_value = fill;
    return v;
  }
  // The storage behind the view: an id that is never used again, offset and extent in bytes, and a
  // number that changes with each write.
  [[nodiscard]] view allocation(std::uint64_t id, std::int64_t offset, std::int64_t extent,
                                std::uint64_t version) const noexcept {
    view v = flag(numdiff_view_has_version);
    v.raw_.allocation = id;
    v.raw_.allocation_offset = offset;
    v.raw_.allocation_extent = extent;
    v.raw_.allocation_version = version;
    return v;
  }
  // The tensor is multiplied by the factors of the context (NUMDIFF_FACTOR), as gradients are.
  [[nodiscard]] view carries_factors() const noexcept { return flag(numdiff_view_carries_factors); }

  [[nodiscard]] numdiff::dtype type() const noexcept { return static_cast<numdiff::dtype>(raw_.dtype); }
  [[nodiscard]] const numdiff_view_v1& raw() const noexcept { return raw_; }

 private:
  view& invalid() noexcept {
    raw_.flags |= numdiff_view_invalid;
    return *this;
  }
  [[nodiscard]] view flag(std::uint32_t bit) const noexcept {
    view v = *this;
    v.raw_.flags |= bit;
    return v;
  }
  [[nodiscard]] view place(const char* axis, spread s, int dimension) const noexcept {
    view v = *this;
    if (raw_.axis_count >= numdiff_max_axes || dimension >= static_cast<int>(raw_.rank)) return v.invalid();
    v.raw_.mesh[v.raw_.axis_count++] = {axis, dimension, static_cast<std::uint16_t>(s), 0};
    return v;
  }
  // Where the swap of the last two dimensions leaves the scales. False when no granularity says that.
  bool turn_scales() noexcept {
    numdiff_scaling_v1& s = raw_.scaling;
    const auto last = static_cast<std::int32_t>(raw_.rank) - 1;
    switch (static_cast<granularity>(s.granularity)) {
      case granularity::row:
        if (last == 1) s.granularity = static_cast<std::uint16_t>(granularity::column);
        return true;
      case granularity::column:
        s.granularity = static_cast<std::uint16_t>(granularity::row);
        return last == 1;
      case granularity::block: {
        const std::int32_t rows = s.block[0];
        s.block[0] = s.block[1];
        s.block[1] = rows;
        s.turned ^= 1U;
        return true;
      }
      case granularity::mx:
      case granularity::nvfp4: {
        const std::int32_t axis = s.axis < 0 ? last + 1 + s.axis : s.axis;
        s.axis = axis == last ? last - 1 : axis == last - 1 ? last : axis;
        s.turned ^= 1U;
        return true;
      }
      default: return true;
    }
  }
  view& globally(const extents& global) noexcept {
    raw_.flat_rank = global.rank();
    for (std::uint32_t i = 0; i < global.rank(); ++i) raw_.global_extent[i] = global[i];
    return *this;
  }

  numdiff_view_v1 raw_{};
};

}  // namespace v1
}  // namespace numdiff
