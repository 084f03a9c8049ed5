#include "analysis/shares.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "model/pieces.hpp"

namespace numdiff::analysis {

namespace {

std::optional<sketch> scaled(const sketch& sums, double by) {
  sketch out = sums;
  for (double& bucket : out) bucket *= by;
  return out;
}

// The pieces of a part, where they hold all that it holds; otherwise the part itself.
bool add_shares(const run_index& run, const merged_capture& capture, const member& part,
                placement_cache& placements, std::vector<share>& all) {
  const model::rank_data& rank = run.rank_of(part);
  const model::capture_row& row = run.capture_row_of(part);
  placement where = placements.of(rank.strings[row.placement]);
  std::optional<index_map> map;
  if (where.told) {
    map = map_of(run, part, where);
  } else if (row.shape < rank.shapes.size()) {
    // Alone in its run, or equal on all ranks: the whole tensor.
    const model::shape_row& shape = rank.shapes[row.shape];
    where.global.assign(shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8));
    map = index_map::of(where, shape, {});
  }
  if (!map) return false;

  std::vector<share> pieces;
  std::int64_t held = 0;
  for (const model::piece& p : model::pieces_of(rank, row.seq)) {
    placement box;
    box.global = where.global;
    box.box = p.box;
    if (box.box.size() != box.global.size()) return false;
    model::shape_row shape{};
    shape.rank = static_cast<std::uint32_t>(p.box.size());
    for (std::size_t d = 0; d < p.box.size(); ++d) shape.extent[d] = p.box[d][1] - p.box[d][0];
    std::optional<index_map> own = index_map::of(box, shape, {});
    if (!own || !own->overlaps(*map)) return false;
    held += own->count();
    share& s = pieces.emplace_back();
    s.rank = rank.rank;
    s.where = std::move(*own);
    s.digest = p.digest;
    if (p.sketch) s.sums = scaled(*p.sketch, capture.part_scale);
  }
  if (!pieces.empty() && held == map->count()) {
    std::ranges::move(pieces, std::back_inserter(all));
    return true;
  }
  share s;
  s.rank = rank.rank;
  s.where = std::move(*map);
  s.digest = {row.digest0, row.digest1};
  if (row.sketch >= 0 && static_cast<std::size_t>(row.sketch) < rank.sketches.size())
    s.sums = scaled(rank.sketches[static_cast<std::size_t>(row.sketch)], capture.part_scale);
  all.push_back(std::move(s));
  return true;
}

class joined {
 public:
  explicit joined(std::size_t n) : to_(n) { std::iota(to_.begin(), to_.end(), std::size_t{0}); }
  std::size_t root(std::size_t i) {
    while (to_[i] != i) i = to_[i] = to_[to_[i]];
    return i;
  }
  void join(std::size_t i, std::size_t j) { to_[root(i)] = root(j); }

 private:
  std::vector<std::size_t> to_;
};

constexpr std::size_t most_pairs = std::size_t{1} << 22;

}  // namespace

std::vector<share_unit> units_of(const run_index& reference_run, const merged_capture& reference,
                                 placement_cache& reference_placements, const run_index& test_run,
                                 const merged_capture& test, placement_cache& test_placements) {
  if (reference.local || test.local || reference.shape != test.shape) return {};
  const bool addends = reference.partial || test.partial;
  if (addends && (!reference.covered || !test.covered)) return {};
  std::vector<share> left, right;
  for (const member& m : reference.parts)
    if (!add_shares(reference_run, reference, m, reference_placements, left)) return {};
  for (const member& m : test.parts)
    if (!add_shares(test_run, test, m, test_placements, right)) return {};
  joined sets(left.size() + right.size());
  const bool one = left.size() * right.size() > most_pairs;
  for (std::size_t i = 0; i < left.size(); ++i) {
    for (std::size_t j = 0; j < right.size(); ++j)
      if (one || left[i].where.overlaps(right[j].where)) sets.join(i, left.size() + j);
  }
  std::vector<share_unit> units;
  std::vector<std::size_t> unit_of(left.size() + right.size(), std::size_t(-1));
  const auto unit = [&](std::size_t i) -> share_unit& {
    std::size_t& at = unit_of[sets.root(i)];
    if (at == std::size_t(-1)) {
      at = units.size();
      units.emplace_back();
    }
    return units[at];
  };
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i].where.count() > 0) unit(i).reference.push_back(std::move(left[i]));
  for (std::size_t j = 0; j < right.size(); ++j)
    if (right[j].where.count() > 0) unit(left.size() + j).test.push_back(std::move(right[j]));
  const auto held = [](const std::vector<share>& shares) {
    std::int64_t n = 0;
    for (const share& s : shares) n += s.where.count();
    return n;
  };
  for (share_unit& u : units) u.complete = addends || held(u.reference) == held(u.test);
  return units;
}

}  // namespace numdiff::analysis
