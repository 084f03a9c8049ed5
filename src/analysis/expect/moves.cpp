#include "analysis/expect/moves.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <utility>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

bool tells_places(const operand& x) {
  return x.places.size() == x.value.values.size() && x.whole > 0;
}

// Every tensor tells its places in one and the same whole; what is empty need not.
bool all_tell_places(const group_call& g) {
  std::int64_t whole = 0;
  const auto fits = [&](const operand& x) {
    if (x.value.values.empty()) return true;
    if (!tells_places(x)) return false;
    if (whole == 0) whole = x.whole;
    return whole == x.whole;
  };
  return std::ranges::all_of(g.ranks, [&](const op_instance& op) {
    return std::ranges::all_of(op.reads, fits) && std::ranges::all_of(op.writes, fits);
  });
}

using held_at = std::pair<std::int64_t, origin>;

std::vector<held_at> brought(const group_call& g) {
  std::vector<held_at> all;
  for (std::uint32_t r = 0; r < g.ranks.size(); ++r)
    for (std::uint32_t i = 0; i < g.ranks[r].reads.size(); ++i) {
      const std::vector<std::int64_t>& places = g.ranks[r].reads[i].places;
      for (std::size_t k = 0; k < places.size(); ++k)
        if (places[k] >= 0) all.push_back({places[k], {r, i, k}});
    }
  std::ranges::stable_sort(all, {}, &held_at::first);
  return all;
}

std::optional<std::vector<origin>> by_place(const std::vector<held_at>& all, const operand& to) {
  std::vector<origin> from;
  for (const std::int64_t place : to.places) {
    const auto at = std::ranges::lower_bound(all, place, {}, &held_at::first);
    if (at == all.end() || at->first != place) return std::nullopt;
    from.push_back(at->second);
  }
  return from;
}

// The inputs one behind the other along the dimension that grew.
std::vector<origin> by_rank(const group_call& g, std::size_t rank, std::size_t write) {
  const auto &in = g.in(0).shape, &out = g.ranks[rank].writes[write].value.shape;
  std::size_t dim = 0;
  while (dim + 1 < in.size() && dim < out.size() && in[dim] == out[dim]) ++dim;
  std::size_t outer = 1;
  for (std::size_t d = 0; d < dim; ++d) outer *= static_cast<std::size_t>(in[d]);
  std::vector<origin> from;
  for (std::size_t o = 0; o < outer; ++o)
    for (std::uint32_t r = 0; r < g.ranks.size(); ++r) {
      const std::size_t all = g.in(r).values.size();
      require(outer > 0 && all % outer == 0, "ranks contribute different shapes");
      for (std::size_t i = 0; i < all / outer; ++i) from.push_back({r, 0, o * (all / outer) + i});
    }
  return from;
}

const tensor& read_of(const group_call& g, const origin& from) {
  return g.ranks[from.rank].reads[from.read].value;
}

// The result with every part replaced by that of another rank, where it holds that one instead.
std::vector<double> reordered(const group_call& g, const std::vector<origin>& from,
                              const std::vector<double>& out, std::vector<double> values) {
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> parts;
  for (std::size_t i = 0; i < from.size(); ++i) parts[{from[i].rank, from[i].read}].push_back(i);
  for (const auto& entry : parts) {
    const std::vector<std::size_t>& part = entry.second;
    for (const op_instance& other : g.ranks)
      for (const operand& read : other.reads) {
        const std::vector<double>& x = read.value.values;
        if (x.size() != read_of(g, from[part.front()]).values.size()) continue;
        if (!std::ranges::all_of(part, [&](std::size_t i) { return out[i] == x[from[i].at]; })) continue;
        for (const std::size_t i : part) values[i] = x[from[i].at];
      }
  }
  return values;
}

}  // namespace

std::vector<origin> origins_of(const group_call& g, std::size_t rank, std::size_t write) {
  const operand& to = g.ranks[rank].writes[write];
  if (all_tell_places(g)) {
    if (auto from = by_place(brought(g), to)) return *std::move(from);
  }
  std::size_t reads = 0;
  for (const op_instance& op : g.ranks) reads += op.reads.size();
  const bool one_sender = reads == 1;
  require(g.operation == collective_operation::all_gather || one_sender,
          "the places of what it moves are not told");
  std::vector<origin> from;
  if (one_sender) {
    std::uint32_t sender = 0;
    while (g.ranks[sender].reads.empty()) ++sender;
    from.resize(g.in(sender).values.size());
    for (std::size_t i = 0; i < from.size(); ++i) from[i] = {sender, 0, i};
  } else {
    from = by_rank(g, rank, write);
  }
  require(from.size() == to.value.values.size(), "an output of another size than its inputs imply");
  return from;
}

std::vector<std::size_t> scattered_to(const group_call& g, std::size_t rank) {
  const operand &from = g.ranks[rank].reads.front(), &to = g.ranks[rank].writes.front();
  std::vector<std::size_t> at(to.value.values.size());
  if (tells_places(from) && tells_places(to) && from.whole == to.whole &&
      from.places == g.ranks[0].reads.front().places) {
    std::map<std::int64_t, std::size_t> local;
    for (std::size_t i = 0; i < from.places.size(); ++i) local.emplace(from.places[i], i);
    bool all = true;
    for (std::size_t i = 0; all && i < at.size(); ++i) {
      const auto found = local.find(to.places[i]);
      all = found != local.end();
      if (all) at[i] = found->second;
    }
    if (all) return at;
  }
  std::size_t before = 0, total = 0;
  for (std::size_t r = 0; r < g.ranks.size(); ++r) {
    if (r < rank) before += g.out(r).values.size();
    total += g.out(r).values.size();
  }
  require(total == from.value.values.size(), "the parts of the ranks are not the whole");
  std::iota(at.begin(), at.end(), before);
  return at;
}

std::vector<judgement> judge_moves(const group_call& g) {
  std::vector<judgement> answers;
  for (std::size_t r = 0; r < g.ranks.size(); ++r)
    for (std::size_t w = 0; w < g.ranks[r].writes.size(); ++w) {
      const operand& to = g.ranks[r].writes[w];
      const std::vector<origin> from = origins_of(g, r, w);
      expectation e;
      e.resize(from.size(), false);
      e.copies = true;
      for (std::size_t i = 0; i < from.size(); ++i) {
        const tensor& x = read_of(g, from[i]);
        e.exact[i] = x.values[from[i].at];
        e.copies = e.copies && x.type == to.value.type;
      }
      e.hypotheses.push_back(
          {"shard-mismatch", "the parts stand in another order",
           [&](const expectation& honest) { return reordered(g, from, to.value.values, honest.exact); }});
      answers.push_back(judge(g.ranks[r], w, e));
      answers.back().rank = r;
    }
  return answers;
}

}  // namespace numdiff::analysis::expect
