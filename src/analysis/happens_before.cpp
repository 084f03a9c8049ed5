#include "analysis/happens_before.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>

namespace numdiff::analysis {

namespace {

struct node {
  std::vector<std::uint32_t> next;
  std::uint32_t waits_for = 0;
  std::int64_t place = 0;  // among what may come next: lowest first
  bool placed = false, done = false;
};

}  // namespace

std::vector<std::uint32_t> in_order(const program_orders& all) {
  // Behind the ops one node for each meeting.
  std::vector<node> nodes(all.ops + all.meetings.size());
  const auto edge = [&](std::uint32_t from, std::uint32_t to) {
    if (from == to) return;
    nodes[from].next.push_back(to);
    ++nodes[to].waits_for;
  };
  std::vector<std::vector<std::uint32_t>> met_by(all.ops);
  for (std::uint32_t m = 0; m < all.meetings.size(); ++m) {
    for (const std::uint32_t op : all.meetings[m]) {
      met_by[op].push_back(all.ops + m);
      edge(all.ops + m, op);
    }
  }
  for (const auto& rank : all.ranks) {
    for (std::uint32_t i = 0; i < rank.size(); ++i) {
      node& here = nodes[rank[i]];
      const bool told = rank[i] < all.like.size() && all.like[rank[i]] >= 0;
      if (told)
        here.place = all.like[rank[i]];
      else if (all.like.empty())
        here.place = here.placed ? std::min<std::int64_t>(here.place, i) : i;
      here.placed = here.placed || told || all.like.empty();
      if (i == 0) continue;
      edge(rank[i - 1], rank[i]);
      for (const std::uint32_t m : met_by[rank[i]]) edge(rank[i - 1], m);
    }
  }
  for (const auto& [from, to] : all.messages) edge(from, to);

  using candidate = std::tuple<std::int64_t, std::uint32_t>;
  std::priority_queue<candidate, std::vector<candidate>, std::greater<>> ready;
  for (std::uint32_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].waits_for == 0) ready.emplace(nodes[i].place, i);
  std::vector<std::uint32_t> order;
  order.reserve(all.ops);
  for (std::uint32_t first_open = 0;;) {
    if (ready.empty()) {
      while (first_open < nodes.size() && nodes[first_open].done) ++first_open;
      if (first_open == nodes.size()) break;
      ready.emplace(nodes[first_open].place, first_open);  // a contradiction
    }
    const std::uint32_t at = std::get<1>(ready.top());
    ready.pop();
    node& here = nodes[at];
    if (here.done) continue;
    here.done = true;
    if (at < all.ops) order.push_back(at);
    for (const std::uint32_t to : here.next) {
      node& after = nodes[to];
      // What no other run places stands right behind what it follows.
      if (!after.placed) after.place = std::max(after.place, here.place);
      if (--after.waits_for == 0 && !after.done) ready.emplace(after.place, to);
    }
  }
  return order;
}

}  // namespace numdiff::analysis
