#pragma once
// The pieces that the ranks of another mesh would hold of a view, each with digest and sketch of its own, so
// that a run in that layout can be compared shard by shard (NUMDIFF_SHARDS).
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "numdiff/detail/pieces.hpp"
#include "numdiff/detail/runtime/describe_placement.hpp"
#include "numdiff/detail/runtime/observe.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// How many pieces each dimension of a view falls into: those that the ranks asked for would hold, over the
// ranks that share it already.
struct piece_grid {
  std::int64_t parts[numdiff_max_rank] = {1, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t all = 1;
};

inline piece_grid find_pieces(const numdiff_view_v1& v, device_mesh& mesh,
                              const std::vector<std::pair<std::string, std::int32_t>>& shards) {
  piece_grid grid;
  for (std::uint32_t i = 0; i < v.axis_count; ++i) {
    const numdiff_axis_v1& a = v.mesh[i];
    if (static_cast<spread>(a.spread) != spread::sharded || a.dimension < 0 || a.axis == nullptr) continue;
    for (const auto& [axis, ranks] : shards) {
      const std::int32_t here = mesh.find(axis).size;
      if (axis != a.axis || ranks % here != 0) continue;
      grid.parts[a.dimension] *= ranks / here;
      grid.all *= ranks / here;
    }
  }
  return grid;
}

// Fills `out` with the bytes of detail/pieces.hpp; none for a view that falls into one piece, into more than
// 256, or that is no plain box: packed, scaled, masked, by ids or flat. `in` is the view's own input. False
// when memory is short.
inline bool observe_pieces(const numdiff_view_v1& v, const observe_input& in, device_mesh& mesh,
                           const std::vector<std::pair<std::string, std::int32_t>>& shards, observation& seen,
                           std::vector<unsigned char>& out) {
  constexpr std::int64_t most = 256;
  const piece_grid grid = find_pieces(v, mesh, shards);
  global_box box;
  if (grid.all <= 1 || grid.all > most || in.tensor.packed || v.scaling.granularity != 0 ||
      v.visible != nullptr || v.visible_lengths != nullptr || v.ids != nullptr || v.segment_count != 0 ||
      !find_box(v, mesh, box))
    return true;
  const auto put = [&](const void* data, std::size_t bytes) {
    const auto* p = static_cast<const unsigned char*>(data);
    out.insert(out.end(), p, p + bytes);
  };
  const pieces_header head = {v.rank, in.level >= level::sketch ? 1U : 0U};
  put(&head, sizeof head);
  std::int64_t at[numdiff_max_rank] = {};
  for (std::int64_t n = 0; n < grid.all; ++n) {
    observe_input one = in;
    one.cast_source = nullptr;
    one.level = in.level >= level::sketch ? level::sketch : level::stats;
    one.map = {};
    one.map.is = global_map::kind::box;
    std::int64_t offset = 0;
    for (std::uint32_t d = 0; d < v.rank; ++d) {
      const std::int64_t begin = v.extent[d] * at[d] / grid.parts[d],
                         end = v.extent[d] * (at[d] + 1) / grid.parts[d];
      one.tensor.extent[d] = end - begin;
      offset += begin * v.stride[d];
      one.map.begin[d] = box.begin[d] + begin;
      one.map.global_extent[d] = box.extent[d];
      const std::int64_t range[2] = {box.begin[d] + begin, box.begin[d] + end};
      put(range, sizeof range);
    }
    one.tensor.data = static_cast<const unsigned char*>(in.tensor.data) +
                      offset * static_cast<std::int64_t>(bytes_of(in.tensor.type));
    if (!observe(one, seen)) return false;
    const std::uint64_t digest[2] = {seen.row.digest0, seen.row.digest1};
    put(digest, sizeof digest);
    if (head.has_sketch != 0) put(seen.sketch, sizeof seen.sketch);
    for (std::uint32_t d = v.rank; d-- > 0;) {
      if (++at[d] < grid.parts[d]) break;
      at[d] = 0;
    }
  }
  return true;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
