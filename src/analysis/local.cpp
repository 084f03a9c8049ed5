#include "analysis/local.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "analysis/align.hpp"
#include "analysis/delayed.hpp"
#include "analysis/expect/decode.hpp"
#include "analysis/index_map.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

namespace {

int badness(const judgement& j) {
  return j.v == verdict::beyond ? 3 : j.v == verdict::undecided ? 2 : j.cause_hint.empty() ? 0 : 1;
}

// Whose results are other elements than its inputs.
bool moves_numbers(std::string_view kind) {
  return is_collective(kind) && kind != "all_reduce" && kind != "reduce" && kind != "broadcast";
}

// The place of every element in the whole tensor; nothing where the capture does not tell.
void tell_places(const run_index& run, const logical_capture& capture, const member& in, operand& x) {
  placement_cache placements;
  for (const member& m : capture.members) {
    if (m.rank != in.rank) continue;
    const placement& where = placements.of(run.rank_of(m).strings[x.row->placement]);
    if (is_complex(x.value.type)) return;
    if (!where.told) {  // of a run of one rank: the whole
      if (run.run().world_size > 1) return;
      x.whole = static_cast<std::int64_t>(x.value.values.size());
      x.places.resize(x.value.values.size());
      std::iota(x.places.begin(), x.places.end(), std::int64_t{0});
      return;
    }
    const std::optional<index_map> map = map_of(run, m, where);
    if (!map) return;
    x.whole = where.elements();
    x.places.assign(x.value.values.size(), -1);
    map->visit(0, x.whole, [&](const stretch& s) {
      for (std::int64_t i = 0; i < s.length; ++i)
        x.places[static_cast<std::size_t>(s.local + i)] = s.global + i;
    });
    return;
  }
}

void tell_places(const run_index& run, const member& in, stored_op& one) {
  for (std::size_t i = 0; i < one.op.reads.size(); ++i)
    tell_places(run, run.captures()[static_cast<std::size_t>(one.reads[i])], in, one.op.reads[i]);
  for (std::size_t i = 0; i < one.op.writes.size(); ++i)
    tell_places(run, run.captures()[static_cast<std::size_t>(one.writes[i])], in, one.op.writes[i]);
}

local_result judge_collective(const run_index& run, const logical_op& op) {
  local_result result;
  std::map<std::int32_t, member> by_world_rank;
  for (const member& m : op.members) {
    if (by_world_rank.emplace(run.rank_of(m).rank, m).second) continue;
    result.why_not = "several micro-batches";
    return result;
  }
  std::map<std::vector<std::int32_t>, const model::collective_row*> groups;
  std::set<std::string_view> read;  // lists that many ranks repeat
  for (const member& m : op.members) {
    const model::rank_data& rank = run.rank_of(m);
    const model::collective_row* row = collective_of(rank, run.op_row_of(m).seq);
    if (row == nullptr) {
      result.why_not = "no collective record";
      return result;
    }
    if (read.insert(rank.strings[row->ranks]).second)
      groups.emplace(group_ranks(rank, *row, run.run().world_size), row);
  }
  for (const auto& [ranks, row] : groups) {
    std::vector<stored_op> instances;
    for (const std::int32_t r : ranks) {
      const auto at = by_world_rank.find(r);
      if (at == by_world_rank.end()) {
        result.why_not = "rank " + std::to_string(r) + " of the group is not there";
        return result;
      }
      instances.push_back(stored(run, op, at->second));
      if (!instances.back().why_not.empty()) {
        result.why_not = instances.back().why_not;
        return result;
      }
    }
    if (moves_numbers(run.kind_of(op)))
      for (stored_op& one : instances) tell_places(run, by_world_rank.at(one.world_rank), one);
    std::vector<op_instance> group;
    group.reserve(instances.size());
    for (stored_op& one : instances) group.push_back(std::move(one.op));
    model::collective_row in_group = *row;
    const auto root = std::ranges::find(ranks, row->peer);  // a world rank
    in_group.peer = root == ranks.end() ? -1 : static_cast<std::int32_t>(root - ranks.begin());
    const replayed answer = replay_collective(in_group, group);
    if (!answer.done) {
      result.why_not = answer.why_not;
      return result;
    }
    for (const judgement& j : answer.outputs) take_judgement(result, instances[j.rank], j);
  }
  result.done = true;
  return result;
}

}  // namespace

std::vector<std::int32_t> group_ranks(const model::rank_data& rank, const model::collective_row& row,
                                      std::int32_t world) {
  std::vector<std::int32_t> ranks;
  const std::string_view text = rank.strings[row.ranks];
  const nlohmann::json json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_array()) {
    for (const auto& r : json) {
      if (r.is_number_integer()) ranks.push_back(r.get<std::int32_t>());
    }
  }
  if (ranks.empty()) {
    for (std::int32_t r = 0; r < world; ++r) ranks.push_back(r);
  }
  return ranks;
}

stored_op stored(const run_index& run, const logical_op& op, const member& where) {
  stored_op one;
  const model::rank_data& rank = run.rank_of(where);
  one.op.row = &run.op_row_of(where);
  one.op.kind = rank.strings[one.op.row->kind];
  one.world_rank = rank.rank;

  std::vector<std::pair<std::uint32_t, std::int32_t>> rows;  // row, logical capture
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const std::uint32_t at = op.first_capture + i;
    for (const member& m : run.captures()[at].members) {
      if (m.rank == where.rank && rank.captures[m.row].op == one.op.row->seq)
        rows.emplace_back(m.row, static_cast<std::int32_t>(at));
    }
  }
  std::ranges::sort(rows);
  for (const auto& [row_number, at] : rows) {
    const model::capture_row& row = rank.captures[row_number];
    const logical_capture& capture = run.captures()[static_cast<std::size_t>(at)];
    const std::string_view name = rank.strings[row.name];
    if (capture.role == role::scalar) {
      one.op.scalars.emplace(name, scalar_of(row));
      continue;
    }
    operand x;
    x.row = &row;
    x.name = name;
    x.cast = cast_of(rank, row.seq);
    x.scaling = rank.strings[row.scaling];
    if (row.payload < 0 && row.count > 0) {
      one.why_not = values_not_stored;
      return one;
    }
    try {
      x.value = decode(rank, row);
    } catch (const std::runtime_error& error) {
      one.why_not = error.what();
      return one;
    }
    if (capture.written) {
      one.op.writes.push_back(std::move(x));
      one.writes.push_back(at);
    } else {
      one.op.reads.push_back(std::move(x));
      one.reads.push_back(at);
    }
  }
  return one;
}

void take_judgement(local_result& result, const stored_op& one, judgement j) {
  if (j.write >= one.writes.size()) return;
  const std::int32_t capture = one.writes[j.write];
  auto known = std::ranges::find(result.outputs, capture, &local_judgement::capture);
  if (known == result.outputs.end()) {
    result.outputs.push_back({capture, {}, {}, 0});
    known = std::prev(result.outputs.end());
    known->worst.v = verdict::within;
  }
  ++known->judged_ranks;
  if (j.v == verdict::beyond) known->ranks.push_back(one.world_rank);
  const auto excess = [](const judgement& x) { return x.limit > 0 ? x.ratio / x.limit : x.ratio; };
  if (known->judged_ranks == 1 || badness(j) > badness(known->worst) ||
      (badness(j) == badness(known->worst) && excess(j) > excess(known->worst))) {
    known->worst = std::move(j);
  }
}

local_result judge_locally(const run_index& run, const logical_op& op) {
  local_result result;
  if (op.outside) {
    result.why_not = "outside any op";
    return result;
  }
  if (is_collective(run.kind_of(op))) return judge_collective(run, op);
  if (!replays(run.kind_of(op))) {
    result.why_not = "a kind without a replay";
    return result;
  }
  for (const member& m : op.members) {
    stored_op one = stored(run, op, m);
    if (!one.why_not.empty()) {
      result.why_not = one.why_not;
      return result;
    }
    replayed answer = replay(one.op);
    if (!answer.done) {
      result.why_not = answer.why_not;
      return result;
    }
    for (judgement& j : answer.outputs) take_judgement(result, one, std::move(j));
  }
  acquit_delayed_scales(run, op, result);
  result.done = true;
  return result;
}

}  // namespace numdiff::analysis
