#pragma once
// The placement of a view: where its elements lie in the global tensor, and the text that says so.
#include <cstdint>
#include <string>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/json.hpp"
#include "numdiff/detail/runtime/mesh.hpp"
#include "numdiff/detail/runtime/observe_input.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline const char* spread_name(std::uint16_t s) noexcept {
  switch (static_cast<spread>(s)) {
    case spread::sharded: return "sharded";
    case spread::replicated: return "replicated";
    case spread::partial_sum: return "partial_sum";
    case spread::partial_average: return "partial_average";
    case spread::partial_max: return "partial_max";
    case spread::partial_min: return "partial_min";
    case spread::unknown: break;
  }
  return "unknown";
}

// [begin, end) of the view in each dimension of the global tensor of these extents.
struct global_box {
  std::int64_t begin[numdiff_max_rank] = {};
  std::int64_t extent[numdiff_max_rank] = {};
};

// False when an extent overflows, or the box leaves the global tensor.
inline bool find_box(const numdiff_view_v1& v, device_mesh& mesh, global_box& box) {
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    std::int64_t parts = 1, at = 0;
    // Several axes over one dimension: the first named is the outermost.
    for (std::uint32_t i = 0; i < v.axis_count; ++i) {
      const numdiff_axis_v1& a = v.mesh[i];
      if (static_cast<spread>(a.spread) != spread::sharded || a.dimension != static_cast<std::int32_t>(d))
        continue;
      const device_mesh::place p = mesh.find(a.axis == nullptr ? "" : a.axis);
      at = at * p.size + p.at;
      parts *= p.size;
    }
    const std::int64_t local = v.extent[d];
    const bool told = v.flat_rank == 0 && v.global_extent[d] != 0;
    if (told) {
      box.begin[d] = v.box_begin[d];
      box.extent[d] = v.global_extent[d];
    } else if (__builtin_mul_overflow(local, parts, &box.extent[d]) ||
               __builtin_mul_overflow(local, at, &box.begin[d])) {
      return false;
    }
    const bool by_ids = v.ids != nullptr && v.ids_dimension == static_cast<std::int32_t>(d);
    if (!by_ids && (box.begin[d] < 0 || box.begin[d] > box.extent[d] - local)) return false;
  }
  return true;
}

inline bool has_placement(const numdiff_view_v1& v) noexcept {
  if (v.axis_count != 0 || v.segment_count != 0 || v.ids != nullptr) return true;
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    if (v.global_extent[d] != 0) return true;
  }
  return false;
}

// Fills the map of `in` and the text; false for a placement that cannot be.
inline bool describe_placement(const numdiff_view_v1& v, device_mesh& mesh, global_map& map,
                               std::string& json) {
  if (!has_placement(v)) return true;
  json = "{\"mesh\":[";
  for (std::uint32_t i = 0; i < v.axis_count; ++i) {
    const numdiff_axis_v1& a = v.mesh[i];
    const device_mesh::place p = mesh.find(a.axis == nullptr ? "" : a.axis);
    json += i == 0 ? "{" : ",{";
    append_key(json, "axis");
    append_quoted(json, a.axis == nullptr ? "" : a.axis);
    append_key(json, "size");
    append_number(json, std::int64_t{p.size});
    append_key(json, "at");
    append_number(json, std::int64_t{p.at});
    append_key(json, "spread");
    append_quoted(json, spread_name(a.spread));
    if (static_cast<spread>(a.spread) == spread::sharded) {
      append_key(json, "dim");
      append_number(json, std::int64_t{a.dimension});
    }
    json += '}';
  }
  json += ']';

  if (v.segment_count != 0) {
    const auto* segments =
        reinterpret_cast<const flat_segment*>(v.more_segments != nullptr ? v.more_segments : v.segments);
    if (v.flat_rank != 0) {
      append_key(json, "global");
      append_list(json, v.global_extent, v.flat_rank);
    }
    append_key(json, "flat");
    for (std::uint32_t i = 0; i < v.segment_count; ++i) {
      const std::int64_t s[3] = {segments[i].global_begin, segments[i].local_begin, segments[i].length};
      json += i == 0 ? '[' : ',';
      append_list(json, s, 3);
    }
    json += "]}";
    map.is = global_map::kind::flat;
    map.segments = segments;
    map.segment_count = v.segment_count;
    return true;
  }

  global_box box;
  if (!find_box(v, mesh, box)) return false;
  append_key(json, "global");
  append_list(json, box.extent, v.rank);
  append_key(json, "box");
  json += '[';
  bool whole = v.ids == nullptr;
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    const bool by_ids = v.ids != nullptr && v.ids_dimension == static_cast<std::int32_t>(d);
    const std::int64_t range[2] = {box.begin[d], box.begin[d] + (by_ids ? box.extent[d] : v.extent[d])};
    if (d != 0) json += ',';
    append_list(json, range, 2);
    if (v.extent[d] != box.extent[d]) whole = false;
  }
  json += ']';
  if (v.ids != nullptr) {
    if (v.ids_count != v.extent[v.ids_dimension]) return false;
    append_key(json, "ids");
    append_number(json, std::int64_t{v.ids_dimension});
  }
  json += '}';
  if (!whole) {
    map.is = global_map::kind::box;
    for (std::uint32_t d = 0; d < v.rank; ++d) {
      map.begin[d] = box.begin[d];
      map.global_extent[d] = box.extent[d];
    }
    if (v.ids != nullptr) {
      map.ids_dimension = v.ids_dimension;
      map.ids = v.ids;
    }
  }
  return true;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
