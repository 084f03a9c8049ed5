#pragma once
// The placement of a view: where its elements lie in the global tensor, and the text that says so.
#include <cstdint>
#include <string>
#include <vector>

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

inline const flat_segment* segments_of(const numdiff_view_v1& v) noexcept {
  return reinterpret_cast<const flat_segment*>(v.more_segments != nullptr ? v.more_segments : v.segments);
}

// For every dimension its stretches [begin, end) in local order, none: as the box says. A view that holds
// nothing but padding has one empty stretch.
inline void append_ranges(std::string& json, const numdiff_view_v1& v) {
  append_key(json, "ranges");
  json += '[';
  for (std::uint32_t d = 0; d < v.rank; ++d) {
    if (d != 0) json += ',';
    json += '[';
    if (v.ids_dimension == static_cast<std::int32_t>(d)) {
      const flat_segment* held = segments_of(v);
      for (std::uint32_t i = 0; i < v.segment_count; ++i) {
        const std::int64_t range[2] = {held[i].global_begin, held[i].global_begin + held[i].length};
        if (i != 0) json += ',';
        append_list(json, range, 2);
      }
      if (v.segment_count == 0) json += "[0,0]";
    }
    json += ']';
  }
  json += ']';
}

// One stretch that is all of the view's indices is a box.
inline bool is_one_box(const numdiff_view_v1& v) noexcept {
  const std::int64_t local = v.extent[v.ids_dimension];
  const flat_segment* held = segments_of(v);
  return local == 0 || (v.segment_count == 1 && held->local_begin == 0 && held->length == local);
}

// The global index of every local one, -1 for padding; false when a stretch leaves the view or the tensor, or
// does not stand right behind the one before.
inline bool indices_of(const numdiff_view_v1& v, std::vector<std::int64_t>& indices) {
  const std::int64_t local = v.extent[v.ids_dimension];
  const std::int64_t global = v.global_extent[v.ids_dimension];
  const flat_segment* held = segments_of(v);
  indices.assign(static_cast<std::size_t>(local), -1);
  std::int64_t at = 0;
  for (std::uint32_t i = 0; i < v.segment_count; ++i) {
    const flat_segment& s = held[i];
    if (s.length < 0 || s.local_begin != at || s.length > local - at || s.global_begin < 0 ||
        s.global_begin > global - s.length)
      return false;
    for (std::int64_t k = 0; k < s.length; ++k) indices[static_cast<std::size_t>(at++)] = s.global_begin + k;
  }
  return true;
}

// Fills the map of `in` and the text; false for a placement that cannot be. `told` and `indices` must live as
// long as the map.
inline bool describe_placement(const numdiff_view_v1& told, device_mesh& mesh, global_map& map,
                               std::string& json, std::vector<std::int64_t>& indices) {
  if (!has_placement(told)) return true;
  numdiff_view_v1 v = told;
  bool by_ranges = (v.flags & numdiff_view_ranges) != 0;
  if (by_ranges && is_one_box(v)) {
    v.box_begin[v.ids_dimension] = v.extent[v.ids_dimension] == 0 ? 0 : segments_of(v)->global_begin;
    by_ranges = false;
    v.segment_count = 0;
  } else if (by_ranges) {
    if (v.ids != nullptr || !indices_of(v, indices)) return false;
    v.ids = indices.data();
    v.ids_count = v.extent[v.ids_dimension];
  }
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

  if (v.segment_count != 0 && !by_ranges) {
    if (v.flat_rank != 0) {
      append_key(json, "global");
      append_list(json, v.global_extent, v.flat_rank);
    }
    append_key(json, "flat");
    for (std::uint32_t i = 0; i < v.segment_count; ++i) {
      const flat_segment& piece = segments_of(v)[i];
      const std::int64_t s[3] = {piece.global_begin, piece.local_begin, piece.length};
      json += i == 0 ? '[' : ',';
      append_list(json, s, 3);
    }
    json += "]}";
    map.is = global_map::kind::flat;
    map.segments = segments_of(told);
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
  if (by_ranges) {
    append_ranges(json, v);
  } else if (v.ids != nullptr) {
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
