#pragma once
// From a view to the message of a capture.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/describe_placement.hpp"
#include "numdiff/detail/runtime/describe_scaling.hpp"
#include "numdiff/detail/runtime/device_memory.hpp"
#include "numdiff/detail/runtime/observe.hpp"
#include "numdiff/detail/runtime/observe_pieces.hpp"
#include "numdiff/detail/runtime/op_state.hpp"
#include "numdiff/detail/runtime/versioned.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// What a thread reuses between captures.
struct capture_workspace {
  observation seen, piece;
  std::vector<unsigned char> pieces;  // bytes of their extra, empty when there are none
  std::string placement, scaling;
  std::vector<std::int64_t> indices;  // of a placement by ranges
  linear_copies scales;
  host_copies copies;
};

// Null while the thread ends, when its workspace is gone.
inline capture_workspace* thread_workspace() {
  static thread_local bool gone = false;
  struct owner {
    capture_workspace workspace;
    ~owner() { gone = true; }
  };
  if (gone) return nullptr;
  static thread_local owner mine;
  return &mine.workspace;
}

// False for a view that cannot be: an unknown dtype, a null pointer with elements, counts that overflow.
inline bool describe_codes(const numdiff_view_v1& v, strided_codes& codes) noexcept {
  const auto type = static_cast<dtype>(v.dtype);
  if ((v.flags & numdiff_view_invalid) != 0 || v.rank > numdiff_max_rank || bytes_of(type) == 0) return false;
  const bool packed = (v.flags & numdiff_view_packed) != 0;
  if (packed && type != dtype::i4 && type != dtype::u4 && type != dtype::f4e2m1fn) return false;
  codes.data = v.data;
  codes.type = type;
  codes.rank = v.rank;
  codes.packed = packed;
  std::int64_t count = 1;
  bool empty = false;
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    codes.extent[d] = v.extent[d];
    codes.stride[d] = v.stride[d];
    empty = empty || v.extent[d] == 0;
    if (v.extent[d] < 0 || __builtin_mul_overflow(count, v.extent[d] > 0 ? v.extent[d] : 1, &count))
      return false;
  }
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(count, std::int64_t{32}, &bytes)) return false;
  return empty || v.data != nullptr;
}

inline void describe_scales(const numdiff_view_v1& v, scale_groups& scales) noexcept {
  const numdiff_scaling_v1& s = v.scaling;
  scales.granularity = static_cast<granularity>(s.granularity);
  scales.block[0] = s.block[0];
  scales.block[1] = s.block[1];
  scales.axis = s.axis;
  scales.type = static_cast<dtype>(s.scale_dtype);
  scales.scales = s.scales;
  scales.direction = static_cast<scale_direction>(s.direction);
  scales.global = s.global;
  scales.zero_points = s.zero_points;
  scales.zero_point_type = static_cast<dtype>(s.zero_point_dtype);
}

inline bool describe_scaling(const numdiff_view_v1& v, capture_workspace& work, scale_groups& scales) {
  const numdiff_scaling_v1& s = v.scaling;
  work.scaling.clear();
  if (s.granularity == 0) return true;
  view_scales grid;
  if (!find_grid(v, grid) || s.scales == nullptr || bytes_of(static_cast<dtype>(s.scale_dtype)) == 0)
    return false;
  if (s.zero_points != nullptr && bytes_of(static_cast<dtype>(s.zero_point_dtype)) == 0) return false;
  describe_scales(v, scales);
  if (!in_linear_order(v, grid, work.scales, scales)) return false;
  work.scaling = scaling_json(v);
  return true;
}

inline void fill_row(capture_row& row, const numdiff_view_v1& v) noexcept {
  row.dtype = v.dtype;
  row.memory = v.memory;
  row.usage = v.usage;
  row.scale_dtype = v.scaling.granularity != 0 ? v.scaling.scale_dtype : std::uint16_t{0};
  row.zero_point_dtype = v.scaling.granularity != 0 && v.scaling.zero_points != nullptr
                             ? v.scaling.zero_point_dtype
                             : std::uint16_t{0};
  row.allocation = v.allocation;
  row.allocation_offset = v.allocation_offset;
  row.allocation_extent = v.allocation_extent;
  row.allocation_version = v.allocation_version;
  row.thread = thread_number();
  row.time = monotonic_ns();
  row.sketch = row.histogram = row.payload = row.scale_payload = row.zero_point_payload = row.index_payload =
      -1;
}

inline shape_row shape_of(const numdiff_view_v1& v) noexcept {
  shape_row shape{};
  shape.rank = v.rank;
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    shape.extent[d] = v.extent[d];
    shape.stride[d] = v.stride[d];
  }
  return shape;
}

// The row says what was left out, and what was left out is counted.
inline void count_left_out(session_state& s, const message_parts& m, keep kept, capture_row& row) noexcept {
  counters& c = s.counts();
  const auto lose = [&](keep part, std::uint16_t bit, std::atomic<std::uint64_t>& counter) {
    if (kept >= part || !m.has(part)) return;
    row.dropped = static_cast<std::uint16_t>(row.dropped | bit);
    counters::add(counter);
  };
  lose(keep::values, dropped_values, c.dropped_values);
  lose(keep::sketch, dropped_sketch, c.dropped_sketches);
  lose(keep::histogram, dropped_histogram, c.dropped_histograms);
}

inline void send_capture(session_state& s, capture_workspace& work, const numdiff_view_v1& v,
                         const char* name) noexcept {
  observation& seen = work.seen;
  capture_row& row = seen.row;
  const shape_row shape = shape_of(v);
  message_parts m(message_kind::capture, row);
  m.add(field::name, text_of(name));
  m.add(field::shape, &shape, sizeof shape);
  m.add(field::placement, work.placement);
  m.add(field::scaling, work.scaling);
  m.add(field::axes, text_of(v.axes));
  if (seen.has_cast) m.add(field::cast, &seen.cast, sizeof seen.cast);
  if (seen.has_scales) m.add(field::scales, &seen.scales, sizeof seen.scales);
  m.add(field::histogram, seen.histogram.data(), seen.histogram.size(), keep::histogram);
  m.add(field::block_histogram, seen.block_histogram.data(), seen.block_histogram.size(), keep::histogram);
  // A small tensor that lies whole on this rank needs no sketch beside its values.
  const bool values_say_all = seen.has_values && row.count <= sketch_buckets && work.placement.empty();
  if (seen.has_sketch && !values_say_all) m.add(field::sketch, seen.sketch, sizeof seen.sketch, keep::sketch);
  if (seen.has_values) {
    m.add(field::values, seen.values.data(), seen.values.size(), keep::values);
    m.add(field::scale_values, seen.scale_values.data(), seen.scale_values.size(), keep::values);
    m.add(field::zero_points, seen.zero_points.data(), seen.zero_points.size(), keep::values);
    if (v.ids != nullptr) {
      m.add(field::index, v.ids, static_cast<std::size_t>(v.ids_count) * sizeof(std::int64_t), keep::values);
    }
  }
  const bool sent = s.push(m, [&](keep kept) { count_left_out(s, m, kept, row); });
  counters::add(sent ? s.counts().captures : s.counts().dropped_captures);
  if (!sent || work.pieces.empty()) return;
  extra_row extra{};
  extra.owner = row.seq;
  extra.dtype = static_cast<std::uint16_t>(dtype::u8);
  message_parts pieces(message_kind::extra, extra);
  pieces.add(field::key, pieces_key);
  pieces.add(field::bytes, work.pieces.data(), work.pieces.size());
  if (!s.push(pieces)) counters::add(s.counts().dropped_sketches);
}

// `v` and `source` are in host memory.
inline bool observe_view(session_state& s, capture_workspace& work, const numdiff_view_v1& v,
                         const numdiff_view_v1* source, level asked) {
  observe_input in;
  strided_codes from;
  if (!describe_codes(v, in.tensor) || !describe_scaling(v, work, in.scaling)) return false;
  work.placement.clear();
  if (!describe_placement(v, s.mesh(), in.map, work.placement, work.indices)) return false;
  if (source != nullptr) {
    if (!describe_codes(*source, from) || is_complex(from.type) || from.rank != in.tensor.rank) return false;
    for (std::uint32_t d = 0; d < from.rank; ++d) {
      if (from.extent[d] != in.tensor.extent[d]) return false;
    }
    in.cast_source = &from;
  }
  in.hidden.visible = v.visible;
  in.hidden.lengths = v.visible_lengths;
  in.hidden.has_fill = (v.flags & numdiff_view_has_hidden) != 0;
  in.hidden.fill = v.hidden_value;
  in.level = asked;
  work.seen.row = capture_row{};
  // Values that cannot fit are not even copied.
  std::int64_t count = 1;
  for (std::uint32_t d = 0; d < v.rank; ++d) count *= v.extent[d];
  const auto value_bytes = static_cast<std::uint64_t>(count) * bytes_of(in.tensor.type);
  const bool too_large = asked == level::tensors && value_bytes > s.queue().largest() / 8 * 7;
  if (too_large) {
    in.level = level::sketch;
    counters::add(s.counts().dropped_values);
    work.seen.row.dropped = dropped_values;
  }
  if (!observe(in, work.seen)) return false;
  work.pieces.clear();
  return s.options().shards.empty() ||
         observe_pieces(v, in, s.mesh(), s.options().shards, work.piece, work.pieces);
}

inline void capture_view(session_state& s, op_state& op, const numdiff_capture_v1& c) noexcept {
  try {
    numdiff_view_v1 view_space, source_space;
    numdiff_view_v1 v = versioned(c.view, view_space);
    capture_workspace* const mine = thread_workspace();
    if (mine == nullptr) return counters::add(s.counts().dropped_captures);
    capture_workspace& work = *mine;
    work.copies.clear();
    if (!work.copies.bring(v)) return counters::add(s.counts().refused);
    numdiff_view_v1 source;
    if (c.source != nullptr) {
      source = versioned(c.source, source_space);
      if (!work.copies.bring(source)) return counters::add(s.counts().refused);
    }
    {
      locked guard(op.sending);
      send_op(s, op, nullptr);
    }
    if (!observe_view(s, work, v, c.source != nullptr ? &source : nullptr, op.level)) {
      return counters::add(s.counts().refused);
    }
    capture_row& row = work.seen.row;
    fill_row(row, *c.view);
    row.seq = s.next_seq();
    row.op = op.row.seq;
    row.role = c.role;
    row.level = static_cast<std::uint16_t>(op.level);
    const bool carries =
        c.role == static_cast<std::uint16_t>(role::gradient) || (v.flags & numdiff_view_carries_factors) != 0;
    row.pending_factor = carries ? op.factor : 1;
    send_capture(s, work, v, c.name);
  } catch (...) {
    counters::add(s.counts().dropped_captures);
  }
}

// Counts that a program made itself: a capture without values.
inline void capture_counts(session_state& s, op_state& op, const char* name,
                           const numdiff_counts_v1& c) noexcept {
  {
    locked guard(op.sending);
    send_op(s, op, nullptr);
  }
  capture_row row{};
  row.seq = s.next_seq();
  row.op = op.row.seq;
  row.count = c.count;
  row.nan = c.nan;
  row.positive_infinity = c.infinite;
  row.amax = c.amax;
  row.sum_sq = c.sum_sq;
  row.minimum = row.maximum = std::numeric_limits<double>::quiet_NaN();
  row.first_nonfinite = -1;
  row.pending_factor = 1;
  row.role = static_cast<std::uint16_t>(role::accumulate);
  row.dtype = c.dtype;
  row.level = static_cast<std::uint16_t>(op.level);
  row.thread = thread_number();
  row.time = monotonic_ns();
  row.sketch = row.histogram = row.payload = row.scale_payload = row.zero_point_payload = row.index_payload =
      -1;
  cast_row cast{};
  cast.capture = row.seq;
  cast.count = c.count;
  cast.beyond_maximum = c.beyond_maximum;
  cast.overflowing = c.overflowing;
  cast.flushed = c.flushed;
  cast.subnormal = c.subnormal;
  cast.nan = c.nan;
  cast.infinite = c.infinite;
  cast.amax = c.amax;
  cast.sum_sq = c.sum_sq;
  cast.clip_sq = c.clip_sq;
  cast.rounding_sq = c.rounding_sq;
  cast.underflow_sq = c.underflow_sq;
  cast.signed_error = c.signed_error;
  cast.source_dtype = c.source_dtype;
  // Equal counts are equal captures.
  hash_bytes(&cast.count, sizeof cast - offsetof(cast_row, count), row.digest0, row.digest1);
  shape_row shape{};
  shape.rank = 1;
  shape.extent[0] = c.count;
  shape.stride[0] = 1;
  message_parts m(message_kind::capture, row);
  m.add(field::name, text_of(name));
  m.add(field::shape, &shape, sizeof shape);
  m.add(field::cast, &cast, sizeof cast);
  counters::add(s.push(m) ? s.counts().captures : s.counts().dropped_captures);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
