#pragma once
// Which indices of a dimension a rank holds, from size, number of ranks and rank: the placements that
// programs use.
//
//   numdiff::view(x, {tokens, width}).shard("cp", 0, numdiff::zigzag(sequence, cp_size, cp_rank))
//   numdiff::view(w, {width, 3 * mine}).shard("tp", 1, numdiff::fused({q, k, v}, tp_size, tp_rank))
//   numdiff::view(p, {n}).shard("dp", 0).flat({numdiff::overlap(offset, size, begin, end)}, {rows, columns})
//
// Local indices that no range covers are padding: they count as hidden and are left out of everything else.
#include <cstdint>
#include <initializer_list>

#include "numdiff/abi.h"
#include "numdiff/extents.hpp"
#include "numdiff/placement.hpp"

namespace numdiff {
inline namespace v1 {

// Up to 8 stretches along one dimension, in local order. `global` is the extent of the whole dimension; what
// does not fit makes `global` -1, and the probe refuses the view.
struct index_ranges {
  segment list[numdiff_max_segments] = {};
  std::uint32_t count = 0;
  std::int64_t global = 0;

  // [begin, end) behind what is there; nothing when it is empty.
  constexpr void add(std::int64_t begin, std::int64_t end) noexcept {
    if (begin >= end) return;
    if (count == numdiff_max_segments) {
      global = -1;
      return;
    }
    list[count] = {begin, held, end - begin};
    held += end - begin;
    ++count;
  }

  std::int64_t held = 0;  // indices that the ranges cover
};

// Where part `at` of `parts` begins when the first size % parts parts have one index more.
constexpr std::int64_t part_begin(index size, index parts, index at) noexcept {
  const std::int64_t each = size.value / parts.value;
  const std::int64_t more = size.value % parts.value;
  return at.value * each + (at.value < more ? at.value : more);
}

// One stretch; the sizes of ranks differ by at most one, and a rank may have none.
constexpr index_ranges even(index size, index parts, index at) noexcept {
  index_ranges r;
  r.global = size.value;
  r.add(part_begin(size, parts, at), part_begin(size, parts, at.value + 1));
  return r;
}

// Stretches `at` and 2 parts - 1 - at of 2 parts: causal attention costs every rank the same.
constexpr index_ranges zigzag(index size, index parts, index at) noexcept {
  index_ranges r;
  const std::int64_t twice = 2 * parts.value;
  r.global = size.value;
  r.add(part_begin(size, twice, at), part_begin(size, twice, at.value + 1));
  r.add(part_begin(size, twice, twice - 1 - at.value), part_begin(size, twice, twice - at.value));
  return r;
}

// Matrices that stand behind each other in one dimension (query, key and value; gate and up), each sharded by
// itself: a rank holds its stretch of every one.
constexpr index_ranges fused(std::initializer_list<index> sizes, index parts, index at) noexcept {
  index_ranges r;
  std::int64_t before = 0;
  for (const index& size : sizes) {
    r.add(before + part_begin(size, parts, at), before + part_begin(size, parts, at.value + 1));
    before += size.value;
  }
  if (r.global == 0) r.global = before;
  return r;
}

// Even parts of a dimension that was padded to `padded` (a vocabulary): what lies at and behind `size` is
// padding.
constexpr index_ranges padded(index size, index padded, index parts, index at) noexcept {
  index_ranges r;
  const std::int64_t end = part_begin(padded, parts, at.value + 1);
  r.global = size.value;
  r.add(part_begin(padded, parts, at), end < size.value ? end : size.value);
  return r;
}

// Of a flat buffer in which a tensor takes [offset, offset + size), a rank holds [begin, end): its piece of
// that tensor, which is empty where the two do not meet. `local_begin` counts from the first element that the
// rank holds of the tensor.
constexpr segment overlap(index offset, index size, index begin, index end) noexcept {
  const std::int64_t from = begin.value > offset.value ? begin.value : offset.value;
  const std::int64_t last = offset.value + size.value;
  const std::int64_t to = end.value < last ? end.value : last;
  if (from >= to) return {0, 0, 0};
  return {from - offset.value, 0, to - from};
}

// Of a shard [begin, begin + shard) of a tensor of extents `global`, the elements [held.global_begin, +
// held.length) in the shard's own row-major order, as stretches of the whole tensor: calls add(segment) for
// each, in order. What a rank holds when a flat buffer is made of shards.
template <class F>
constexpr void each_piece(const extents& shard, const extents& begin, const extents& global,
                          const segment& held, F add) {
  if (held.length == 0) return add(held);
  const std::uint32_t rank = shard.rank();
  segment joined{0, held.local_begin, 0};
  for (std::int64_t at = held.global_begin; at < held.global_begin + held.length;) {
    std::int64_t rest = at;
    std::int64_t place = 0;
    std::int64_t stride = 1;
    for (std::uint32_t d = rank; d-- > 0;) {
      place += (begin[d] + rest % shard[d]) * stride;
      rest /= shard[d];
      stride *= global[d];
    }
    const std::int64_t row = rank == 0 ? 1 : shard[rank - 1];
    const std::int64_t left = held.global_begin + held.length - at;
    const std::int64_t run = row - at % row < left ? row - at % row : left;
    if (joined.length > 0 && joined.global_begin + joined.length != place) {
      add(joined);
      joined = {0, joined.local_begin + joined.length, 0};
    }
    if (joined.length == 0) joined.global_begin = place;
    joined.length += run;
    at += run;
  }
  add(joined);
}

}  // namespace v1
}  // namespace numdiff
