#include "analysis/collectives.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <string>

#include "analysis/align.hpp"
#include "analysis/judged_run.hpp"
#include "analysis/local.hpp"
#include "analysis/measure.hpp"
#include "analysis/placement.hpp"
#include "model/sketch.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

const member* of_rank(const std::vector<member>& members, std::uint32_t rank) {
  const auto at = std::ranges::find(members, rank, &member::rank);
  return at == members.end() ? nullptr : &*at;
}

// A rank that could have recorded more than it did.
bool whole(const model::rank_data& rank) {
  return rank.closed && rank.cut_rows == 0 && rank.drops.ops == 0 && rank.drops.captures == 0;
}

// Whether `rank` joined the collective in another op: one with the same number, which no other rank of the
// group has under a number of its own.
bool joined_otherwise(const run_index& run, const collective_group& group, std::uint32_t rank) {
  const model::rank_data& there = run.run().ranks[rank];
  const std::string_view communicator = run.rank_of(group.members.front()).strings[group.row->communicator];
  for (const model::collective_row& row : there.collectives) {
    if (row.sequence != group.row->sequence || row.operation != group.row->operation ||
        there.strings[row.communicator] != communicator)
      continue;
    const auto op = std::ranges::find(there.ops, row.op, &model::op_row::seq);
    if (op == there.ops.end()) return true;
    const member own{rank, static_cast<std::uint32_t>(op - there.ops.begin())};
    const auto logical = std::ranges::find_if(run.ops(), [&](const logical_op& o) {
      return std::ranges::any_of(o.members,
                                 [&](const member& m) { return m.rank == own.rank && m.row == own.row; });
    });
    if (logical == run.ops().end()) return true;
    return std::ranges::none_of(logical->members, [&](const member& m) {
      const model::rank_data& other = run.rank_of(m);
      const model::collective_row* told = collective_of(other, run.op_row_of(m).seq);
      return m.rank != rank && told != nullptr && told->sequence != row.sequence &&
             other.strings[told->communicator] == communicator &&
             std::ranges::find(group.ranks, other.rank) != group.ranks.end();
    });
  }
  return false;
}

std::string named(std::int32_t rank) {
  return "rank " + std::to_string(rank);
}

bool equal_for_all(std::string_view kind) {
  return kind == "all_reduce" || kind == "broadcast" || kind == "all_gather";
}

// What one rank brought or got, as sums that add up over ranks.
struct summed {
  sketch sums{};
  double size = 0;  // of the largest sum on the way: the sizes of all
  std::array<std::uint64_t, 2> digest{};
};

// False when it has no sketch or leaves elements out of it.
bool add(const run_index& run, const member& m, summed& to) {
  const model::rank_data& rank = run.rank_of(m);
  const model::capture_row& r = run.capture_row_of(m);
  const std::int64_t excluded =
      r.hidden + r.nan + r.positive_infinity + r.negative_infinity + r.maximum_positive + r.maximum_negative;
  if (r.sketch < 0 || static_cast<std::size_t>(r.sketch) >= rank.sketches.size() || excluded > 0)
    return false;
  model::add(to.sums, rank.sketches[static_cast<std::size_t>(r.sketch)]);
  to.size += std::sqrt(std::ldexp(r.sum_sq, 2 * r.sum_exponent));
  to.digest[0] += r.digest0;
  to.digest[1] += r.digest1;
  return true;
}

// Elements are counted alike on both sides: sketches are keyed by places in the whole tensor.
bool same_places(const run_index& run, const member& a, const member& b, bool same_part,
                 placement_cache& placements) {
  const auto extents = [&](const member& m) {
    const model::rank_data& rank = run.rank_of(m);
    const model::capture_row& row = run.capture_row_of(m);
    const placement& where = placements.of(rank.strings[row.placement]);
    if (where.told) return where.global;
    const model::shape_row& shape = rank.shapes.at(row.shape);
    return std::vector(shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8));
  };
  if (extents(a) != extents(b)) return false;
  return !same_part || run.capture_row_of(a).count == run.capture_row_of(b).count;
}

}  // namespace

std::vector<collective_group> groups_of(const run_index& run, const logical_op& op) {
  std::map<std::vector<std::int32_t>, collective_group> by_ranks;
  std::map<std::string, std::vector<std::int32_t>, std::less<>> read;  // lists that many ranks repeat
  for (const member& m : op.members) {
    const model::rank_data& rank = run.rank_of(m);
    const model::collective_row* row = collective_of(rank, run.op_row_of(m).seq);
    if (row == nullptr) return {};
    const std::string_view text = rank.strings[row->ranks];
    auto known = read.find(text);
    if (known == read.end()) known = read.emplace(text, group_ranks(rank, *row, run.run().world_size)).first;
    collective_group& group = by_ranks[known->second];
    group.ranks = known->second;
    group.members.push_back(m);
    if (group.row == nullptr) group.row = row;
    if (row->size > 0 && row->size != group.ranks.size()) return {};  // its ranks are not told
  }
  std::vector<collective_group> groups;
  for (auto& [ranks, group] : by_ranks) groups.push_back(std::move(group));
  return groups;
}

std::optional<invariant> broken_group(const run_index& run, const logical_op& op) {
  const std::string_view kind = run.kind_of(op);
  if (kind == "send" || kind == "receive" || kind == "all_to_all") return {};
  std::map<std::int32_t, std::uint32_t> there;
  for (std::uint32_t r = 0; r < run.run().ranks.size(); ++r) there.emplace(run.run().ranks[r].rank, r);
  for (const collective_group& group : groups_of(run, op)) {
    const auto size = static_cast<double>(group.ranks.size());
    std::set<std::uint32_t> joined;
    for (const member& m : group.members) joined.insert(m.rank);
    for (const std::int32_t world : group.ranks) {
      const auto at = there.find(world);
      if (at == there.end() || joined.contains(at->second) || !whole(run.run().ranks[at->second])) continue;
      if (!run.reads(at->second) || run.run().ranks[at->second].collectives.empty() ||
          joined_otherwise(run, group, at->second))
        continue;
      return invariant{named(world) + " of the group did not take part",
                       static_cast<double>(group.members.size()),
                       size,
                       {world}};
    }
    for (const member& m : group.members) {
      const model::rank_data& rank = run.rank_of(m);
      const model::collective_row& row = *collective_of(rank, run.op_row_of(m).seq);
      const auto differs = [&](const char* what, double value, double expected) {
        return invariant{named(rank.rank) + " calls it with another " + what, value, expected, {rank.rank}};
      };
      if (row.operation != group.row->operation)
        return differs("operation", row.operation, group.row->operation);
      if (row.reduction != group.row->reduction)
        return differs("reduction", row.reduction, group.row->reduction);
      if (row.wire_dtype != group.row->wire_dtype)
        return differs("wire format", row.wire_dtype, group.row->wire_dtype);
      if (row.count != group.row->count && kind != "all_gather")
        return differs("count", static_cast<double>(row.count), static_cast<double>(group.row->count));
    }
  }
  return {};
}

std::optional<invariant> broken_result(const judged_run& run, const seen_capture& x,
                                       std::span<const seen_capture> all) {
  const run_index& index = run.index;
  const logical_op& op = index.ops()[x.capture->op];
  const std::string_view kind = index.kind_of(op);
  const bool gathers = kind == "all_gather", scatters = kind == "reduce_scatter";
  if (!gathers && !scatters && kind != "all_reduce") return {};
  const seen_capture* in = nullptr;
  for (const seen_capture& other : all) {
    if (other.capture->written || other.capture->role == role::scalar) continue;
    if (in != nullptr) return {};
    in = &other;
  }
  if (in == nullptr) return {};
  for (const collective_group& group : groups_of(index, op)) {
    const auto how = static_cast<reduction>(group.row->reduction);
    if (group.members.size() != group.ranks.size()) return {};  // a rank is not there
    if (!gathers && how != reduction::sum && how != reduction::average) return {};
    summed brought, scattered;
    std::vector<summed> got;
    const member* first = of_rank(in->capture->members, group.members.front().rank);
    if (first == nullptr) return {};
    bool exact = gathers;
    double factor = how == reduction::average && !gathers ? 1 / static_cast<double>(group.ranks.size()) : 1;
    for (const member& m : group.members) {
      const member *own = of_rank(in->capture->members, m.rank), *out = of_rank(x.capture->members, m.rank);
      if (own == nullptr || out == nullptr) return {};
      const model::capture_row &a = index.capture_row_of(*own), &b = index.capture_row_of(*out);
      // Both sides must count the same places, and an addend all of what its sum is.
      if (!same_places(index, *own, *first, !gathers, run.placements) ||
          !same_places(index, *out, *first, !gathers && !scatters, run.placements) ||
          a.pending_factor != b.pending_factor || a.scaling != 0 || b.scaling != 0)
        return {};
      exact = exact && a.dtype == b.dtype;
      if (!add(index, *own, brought) || !add(index, *out, scatters ? scattered : got.emplace_back()))
        return {};
    }
    if (scatters) got = {scattered};
    const model::capture_row& out_row = index.capture_row_of(x.capture->members.front());
    const auto wire = static_cast<dtype>(group.row->wire_dtype);
    const auto type = static_cast<dtype>(out_row.dtype);
    const double ranks = static_cast<double>(group.ranks.size());
    const double unit = std::max(unit_roundoff(type), wire == dtype::unknown ? 0 : unit_roundoff(wire));
    // Each hop rounds what it carries; a small number may fall among the subnormal ones of the wire.
    const double bound = 4 * unit * ranks * brought.size * factor +
                         std::sqrt(static_cast<double>(out_row.count)) * ranks *
                             format_of(wire == dtype::unknown ? type : wire).min_subnormal();
    invariant broken{
        gathers ? "it is not what the ranks brought" : "it is not the sum of what the ranks brought",
        0,
        bound,
        {}};
    sketch expected = brought.sums;
    for (double& bucket : expected) bucket *= factor;
    for (std::size_t i = 0; i < got.size(); ++i) {
      if (exact && got[i].digest == brought.digest) continue;
      const double apart = model::distance(got[i].sums, expected);
      if (!(apart > bound) && !exact) continue;
      broken.value = std::max(broken.value, apart);
      if (!scatters) broken.ranks.push_back(index.rank_of(group.members[i]).rank);
    }
    if (broken.value > 0 || !broken.ranks.empty()) return broken;
  }
  return {};
}

std::int32_t unequal_result(const run_index& run, const logical_op& op, const logical_capture& written) {
  if (!equal_for_all(run.kind_of(op))) return -1;
  for (const collective_group& group : groups_of(run, op)) {
    const member* first = nullptr;
    for (const member& m : group.members) {
      const member* own = of_rank(written.members, m.rank);
      if (own == nullptr) continue;
      if (first == nullptr) {
        first = own;
        continue;
      }
      const model::capture_row &a = run.capture_row_of(*first), &b = run.capture_row_of(*own);
      if (a.dtype == b.dtype && a.count == b.count && (a.digest0 != b.digest0 || a.digest1 != b.digest1))
        return run.rank_of(*own).rank;
    }
  }
  return -1;
}

}  // namespace numdiff::analysis
