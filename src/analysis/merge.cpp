#include "analysis/merge.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>
#include <string_view>
#include <utility>

#include "analysis/expect/scale_map.hpp"
#include "analysis/index_map.hpp"
#include "numdiff/dtype.hpp"

namespace numdiff::analysis {

namespace {

std::array<std::uint64_t, 6> digest_of(const model::capture_row& row) {
  return {row.digest0,           row.digest1, row.scale_digest0, row.scale_digest1, row.zero_point_digest0,
          row.zero_point_digest1};
}

void add_counts(merged_capture& m, const model::capture_row& row) {
  m.count += row.count;
  m.hidden += row.hidden;
  m.nan += row.nan;
  m.positive_infinity += row.positive_infinity;
  m.negative_infinity += row.negative_infinity;
  m.zero += row.zero + row.negative_zero;
  m.subnormal += row.subnormal;
  m.largest += row.maximum_positive + row.maximum_negative;
  if (bytes_of(m.type) >= 2) m.at_maximum += row.maximum_positive + row.maximum_negative;
  if (row.first_nonfinite >= 0 && (m.first_nonfinite < 0 || row.first_nonfinite < m.first_nonfinite)) {
    m.first_nonfinite = row.first_nonfinite;
  }
  m.amax = std::max(m.amax, row.amax);
  m.sum += std::ldexp(row.sum, row.sum_exponent);
  m.sum_abs += std::ldexp(row.sum_abs, row.sum_exponent);
  m.sum_sq += std::ldexp(row.sum_sq, 2 * row.sum_exponent);
}

// Numbers of a view that are no elements of the whole: indices that no range, segment or id covers.
std::int64_t padding_of(const run_index& run, const member& part, const placement& where) {
  if (where.ranges.empty() && where.flat.empty() && where.ids < 0) return 0;
  const model::capture_row& row = run.capture_row_of(part);
  if (where.ids >= 0 && row.index_payload < 0) return 0;  // not kept
  const std::optional<index_map> map = map_of(run, part, where);
  const std::int64_t per_element = is_complex(static_cast<dtype>(row.dtype)) ? 2 : 1;
  return map ? row.count - per_element * map->count() : 0;
}

bool none_overlap(const run_index& run, const std::vector<member>& parts,
                  const std::vector<const placement*>& where) {
  std::vector<index_map> maps;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    // Ids that were not kept cannot tell.
    if (where[i]->ids >= 0 && run.capture_row_of(parts[i]).index_payload < 0) continue;
    std::optional<index_map> map = map_of(run, parts[i], *where[i]);
    if (!map || std::ranges::any_of(maps, [&](const index_map& m) { return m.overlaps(*map); })) return false;
    maps.push_back(std::move(*map));
  }
  return true;
}

// Every element has all of its terms.
bool all_terms(const run_index& run, const std::vector<member>& parts, placement_cache& placements,
               std::int64_t elements) {
  std::map<std::string_view, std::int64_t> terms;
  std::int64_t held = 0;
  for (const member& part : parts) {
    const placement& where = placements.of(run.rank_of(part).strings[run.capture_row_of(part).placement]);
    if (++terms[where.region] == 1) held += run.capture_row_of(part).count - padding_of(run, part, where);
  }
  const placement& any =
      placements.of(run.rank_of(parts.front()).strings[run.capture_row_of(parts.front()).placement]);
  return held == elements &&
         std::ranges::all_of(terms, [&](const auto& t) { return t.second == any.terms(); });
}

// No element is in two of the parts.
bool disjoint(const run_index& run, const std::vector<member>& parts, placement_cache& placements) {
  std::vector<const placement*> where;
  for (const member& part : parts)
    where.push_back(&placements.of(run.rank_of(part).strings[run.capture_row_of(part).placement]));
  const bool by_ids = std::ranges::any_of(where, [](const placement* p) { return p->ids >= 0; });
  std::optional<bool> not_kept;
  std::optional<bool>& known = by_ids ? not_kept : placements.disjoint(where);
  if (!known) known = none_overlap(run, parts, where);
  return *known;
}

}  // namespace

merged_capture merge(const run_index& run, const logical_capture& capture, placement_cache& placements) {
  merged_capture m;
  const model::capture_row& first = run.capture_row_of(capture.members.front());
  m.type = static_cast<dtype>(first.dtype);
  m.pending_factor = first.pending_factor;
  m.global_scale = expect::global_scale_of(run.rank_of(capture.members.front()).strings[first.scaling]);

  // Replicas share a part; the first of each part stands for it.
  std::map<std::pair<std::string_view, std::int32_t>, std::uint32_t> by_part;
  bool told = true, unnamed = false;
  const placement* where = nullptr;
  for (const member& one : capture.members) {
    const model::rank_data& rank = run.rank_of(one);
    const model::capture_row& row = run.capture_row_of(one);
    const placement& here = placements.of(rank.strings[row.placement]);
    told = told && here.told;
    where = &here;
    if (here.partial() != nullptr) {
      m.partial = true;
      m.part_scale = here.part_scale();
    }
    const auto [at, fresh] =
        by_part.emplace(std::pair(std::string_view(here.part), here.part_by_rank ? rank.rank : -1),
                        static_cast<std::uint32_t>(m.parts.size()));
    m.part_of.push_back(at->second);
    if (fresh) {
      m.parts.push_back(one);
      add_counts(m, row);
      const std::int64_t padding = padding_of(run, one, here);
      m.count -= padding;
      m.hidden -= padding;
    } else if (told && digest_of(row) != digest_of(run.capture_row_of(m.parts[at->second]))) {
      // Only an axis on which the tensor is replicated makes a promise; ranks that stand at the same place
      // of every named axis differ by an axis that was not named.
      const model::rank_data& twin = run.rank_of(m.parts[at->second]);
      if (rank.strings[row.placement] == twin.strings[run.capture_row_of(m.parts[at->second]).placement])
        unnamed = true;
      else if (m.unequal_replica < 0)
        m.unequal_replica = rank.rank;
    }
  }
  if (!told || unnamed) {
    // No placement: equal on all ranks is a replica, anything else is rank-local.
    const auto same = [&](const member& one) {
      return digest_of(run.capture_row_of(one)) == digest_of(first);
    };
    m.local = capture.members.size() > 1 && !std::ranges::all_of(capture.members, same);
    if (m.local) {
      m.unequal_replica = -1;
      m.parts = capture.members;
      std::iota(m.part_of.begin(), m.part_of.end(), std::uint32_t{0});
      m.count = 0;
      m.hidden = m.nan = m.positive_infinity = m.negative_infinity = m.zero = m.subnormal = m.at_maximum =
          m.largest = 0;
      m.amax = m.sum = m.sum_abs = m.sum_sq = 0;
      for (const member& one : m.parts) {
        const model::capture_row& row = run.capture_row_of(one);
        add_counts(m, row);
        const auto d = digest_of(row);
        m.rank_digests.push_back(
            {static_cast<std::uint64_t>(run.rank_of(one).rank), d[0], d[1], d[2], d[3], d[4], d[5]});
      }
      return m;
    }
  }

  const model::shape_row& shape = run.rank_of(capture.members.front()).shapes.at(first.shape);
  if (told && where != nullptr) {
    m.shape = where->global;
    const std::int64_t all = where->elements() * (is_complex(m.type) ? 2 : 1);
    if (m.partial) {
      m.count = all;
      m.covered = all_terms(run, m.parts, placements, all);
    } else {
      // Of ids that were not kept nobody knows which are padding: what is hidden, if that makes it whole.
      if (where->ids >= 0 && m.count > all && m.count - m.hidden == all) {
        m.count = all;
        m.hidden = 0;
      }
      m.covered = m.count == all && disjoint(run, m.parts, placements);
      m.selected = where->ids >= 0;
    }
  } else {
    m.shape.assign(shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8));
  }

  m.has_digest = !m.partial;
  m.has_sketch = std::ranges::all_of(m.parts, [&](const member& part) {
    const std::int64_t row = run.capture_row_of(part).sketch;
    return row >= 0 && static_cast<std::size_t>(row) < run.rank_of(part).sketches.size();
  });
  std::set<std::array<double, 5>> contents;
  std::set<std::array<std::uint64_t, 4>> scales;
  for (const member& part : m.parts) {
    const model::capture_row& row = run.capture_row_of(part);
    const auto digest = digest_of(row);
    if (!m.partial && row.minimum < row.maximum &&
        !contents.insert({row.sum, row.sum_abs, row.sum_sq, row.minimum, row.maximum}).second)
      m.repeats_part = true;
    m.digest[0] += digest[0];
    m.digest[1] += digest[1];
    // A scale that all shards share counts once.
    if (scales.insert({digest[2], digest[3], digest[4], digest[5]}).second) {
      for (std::size_t i = 2; i < digest.size(); ++i) m.digest[i] += digest[i];
    }
  }
  return m;
}

sketch sketch_of(const run_index& run, const merged_capture& capture) {
  sketch sum{};
  for (const member& part : capture.parts) {
    const std::int64_t row = run.capture_row_of(part).sketch;
    const sketch& own = run.rank_of(part).sketches[static_cast<std::size_t>(row)];
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += own[i] * capture.part_scale;
  }
  return sum;
}

bool equal(const merged_capture& a, const merged_capture& b) noexcept {
  if (a.local && b.local) {
    return a.type == b.type && a.count == b.count && a.rank_digests == b.rank_digests &&
           a.global_scale == b.global_scale && a.pending_factor == b.pending_factor;
  }
  return a.has_digest && b.has_digest && a.covered && b.covered && a.type == b.type && a.shape == b.shape &&
         a.count == b.count && a.digest == b.digest && a.global_scale == b.global_scale &&
         a.pending_factor == b.pending_factor;
}

}  // namespace numdiff::analysis
