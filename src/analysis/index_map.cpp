#include "analysis/index_map.hpp"

namespace numdiff::analysis {

namespace {

// Ascending, neighbours joined. False when some index is held twice.
bool put_in_order(std::vector<stretch>& all) {
  std::ranges::sort(all, {}, &stretch::global);
  std::vector<stretch> joined;
  for (const stretch& s : all) {
    if (s.length == 0) continue;
    if (!joined.empty()) {
      stretch& before = joined.back();
      if (s.global < before.global + before.length) return false;
      if (s.global == before.global + before.length && s.local == before.local + before.length) {
        before.length += s.length;
        continue;
      }
    }
    joined.push_back(s);
  }
  all = std::move(joined);
  return true;
}

std::int64_t length_of(const std::vector<stretch>& all) {
  std::int64_t n = 0;
  for (const stretch& s : all) n += s.length;
  return n;
}

// What a view of `extent` indices holds of a dimension; false when the placement does not fit it.
bool held_of(const placement& where, std::size_t d, std::int64_t extent, std::span<const std::int64_t> ids,
             std::vector<stretch>& held) {
  const std::int64_t global = where.global[d];
  const bool listed = d < where.ranges.size() && !where.ranges[d].empty();
  if (listed) {
    std::int64_t local = 0;
    for (const auto& [begin, end] : where.ranges[d]) {
      if (begin < 0 || end < begin || end > global) return false;
      held.push_back({begin, local, end - begin});
      local += end - begin;
    }
    // Fewer than the view has: the rest is padding.
    return local <= extent && put_in_order(held);
  }
  if (static_cast<int>(d) == where.ids) {
    if (ids.size() != static_cast<std::size_t>(extent)) return false;
    for (std::int64_t i = 0; i < extent; ++i) {
      const std::int64_t id = ids[static_cast<std::size_t>(i)];
      if (id >= global) return false;
      if (id >= 0) held.push_back({id, i, 1});
    }
    return put_in_order(held);
  }
  const std::int64_t begin = d < where.box.size() ? where.box[d][0] : 0;
  if (begin < 0 || begin + extent > global) return false;
  held.push_back({begin, 0, extent});
  return true;
}

bool ranges_overlap(const std::vector<stretch>& a, const std::vector<stretch>& b) {
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const std::int64_t end_a = a[i].global + a[i].length, end_b = b[j].global + b[j].length;
    if (a[i].length > 0 && b[j].length > 0 && a[i].global < end_b && b[j].global < end_a) return true;
    (end_a <= end_b ? i : j) += 1;
  }
  return false;
}

}  // namespace

std::optional<index_map> index_map::of(const placement& where, const model::shape_row& shape,
                                       std::span<const std::int64_t> ids) {
  index_map map;
  const std::int64_t held_here = elements_of(shape), all = where.elements();
  if (!where.flat.empty()) {
    for (const auto& [global, local, length] : where.flat) {
      if (local < 0 || length < 0 || local > held_here - length || global < 0 || global > all - length)
        return std::nullopt;
      map.flat_.push_back({global, local, length});
    }
    if (!put_in_order(map.flat_)) return std::nullopt;
    map.count_ = length_of(map.flat_);
    return map;
  }
  if (where.global.size() != shape.rank || shape.rank > 8) return std::nullopt;
  map.count_ = 1;
  std::size_t last = 0;  // behind the last dimension that is not whole
  for (std::size_t d = 0; d < shape.rank; ++d) {
    dimension& here = map.dims_.emplace_back();
    if (!held_of(where, d, shape.extent[d], ids, here.held)) return std::nullopt;
    map.count_ *= length_of(here.held);
    const bool whole = here.held.size() == 1 && here.held[0].global == 0 && here.held[0].local == 0 &&
                       here.held[0].length == where.global[d] && shape.extent[d] == where.global[d];
    if (!whole) last = d + 1;
  }
  for (std::size_t d = shape.rank; d-- > 1;) {
    map.dims_[d - 1].global_stride = map.dims_[d].global_stride * where.global[d];
    map.dims_[d - 1].local_stride = map.dims_[d].local_stride * shape.extent[d];
  }
  map.dims_.resize(last);
  return map;
}

bool index_map::overlaps(const index_map& other) const {
  if (count_ == 0 || other.count_ == 0) return false;
  if (!flat_.empty() && !other.flat_.empty()) return ranges_overlap(flat_, other.flat_);
  if (!flat_.empty() || !other.flat_.empty()) {
    const index_map& segments = flat_.empty() ? other : *this;
    const index_map& box = flat_.empty() ? *this : other;
    return std::ranges::any_of(segments.flat_, [&](const stretch& s) {
      return box.find(s.global, s.global + s.length, [](const stretch&) { return true; });
    });
  }
  for (std::size_t d = 0; d < std::min(dims_.size(), other.dims_.size()); ++d)
    if (!ranges_overlap(dims_[d].held, other.dims_[d].held)) return false;
  return true;
}

std::optional<index_map> map_of(const run_index& run, const member& one, const placement& where) {
  const model::rank_data& rank = run.rank_of(one);
  const model::capture_row& row = run.capture_row_of(one);
  if (row.shape >= rank.shapes.size()) return std::nullopt;
  std::vector<std::int64_t> ids;
  if (where.ids >= 0 && row.index_payload >= 0 && row.index_count > 0 && rank.payload != nullptr) {
    ids.resize(static_cast<std::size_t>(row.index_count));
    rank.payload->read(dtype::i64, row.index_payload, std::as_writable_bytes(std::span(ids)));
  }
  return index_map::of(where, rank.shapes[row.shape], ids);
}

}  // namespace numdiff::analysis
