#include "analysis/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <list>
#include <map>
#include <tuple>
#include <unordered_map>

#include "model/path.hpp"

namespace numdiff::analysis {

namespace {

using op_key = std::tuple<std::int64_t, std::int64_t, std::int32_t, std::uint16_t, std::uint32_t,
                          std::uint32_t, std::uint32_t>;

template <typename Row, typename Key>
const Row* find_row(const std::vector<Row>& rows, std::uint64_t owner, Key key) noexcept {
  const auto at = std::lower_bound(rows.begin(), rows.end(), owner,
                                   [key](const Row& row, std::uint64_t seq) { return row.*key < seq; });
  return at != rows.end() && (*at).*key == owner ? &*at : nullptr;
}

}  // namespace

const model::cast_row* cast_of(const model::rank_data& rank, std::uint64_t capture) noexcept {
  return find_row(rank.casts, capture, &model::cast_row::capture);
}
const model::scales_row* scales_of(const model::rank_data& rank, std::uint64_t capture) noexcept {
  return find_row(rank.scales, capture, &model::scales_row::capture);
}
const model::collective_row* collective_of(const model::rank_data& rank, std::uint64_t op) noexcept {
  return find_row(rank.collectives, op, &model::collective_row::op);
}

bool is_written(role r, std::string_view name) noexcept {
  switch (r) {
    case role::output:
    case role::gradient:
    case role::accumulate: return true;
    case role::state: return name.ends_with(".new");
    default: return false;
  }
}

double scalar_of(const model::capture_row& row) noexcept {
  if (row.nan > 0) return std::numeric_limits<double>::quiet_NaN();
  if (row.positive_infinity > 0) return std::numeric_limits<double>::infinity();
  if (row.negative_infinity > 0) return -std::numeric_limits<double>::infinity();
  if (row.maximum_positive + row.maximum_negative > 0) return row.maximum;
  return std::ldexp(row.sum, row.sum_exponent);
}

namespace {

// Captures of one op on one rank find their logical captures by name, role, usage and ordinal.
using capture_key = std::tuple<std::uint32_t, std::uint16_t, std::uint16_t, std::uint32_t>;

struct gathered_op {
  logical_op op;
  std::vector<logical_capture> captures;
  std::map<capture_key, std::size_t> by_key;
};

}  // namespace

run_index::run_index(const model::run& run, symbols& names, const model::selection& select)
    : run_(run), names_(names) {
  // Ranks are woven into one order: an op that only a later rank has stands behind the op that it
  // follows there.
  std::list<gathered_op> woven;
  std::map<op_key, std::list<gathered_op>::iterator> known;
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) {
    const model::rank_data& rank = run.ranks[r];
    if (!select.has_rank(rank.rank)) continue;
    for (const model::event_row& event : rank.events) {
      if (static_cast<event_kind>(event.kind) == event_kind::skipped_step) skipped_.insert(event.step);
    }
    std::vector<std::uint32_t> symbol_of(rank.strings.size());
    for (std::uint32_t i = 0; i < symbol_of.size(); ++i) symbol_of[i] = names.of(rank.strings[i]);
    const auto symbol = [&](std::uint32_t id) { return id < symbol_of.size() ? symbol_of[id] : 0; };

    const std::vector<std::uint32_t> calls = model::call_numbers(rank);
    std::unordered_map<std::uint64_t, std::list<gathered_op>::iterator> by_seq;
    auto cursor = woven.end();
    bool follows = false;
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
      const model::op_row& row = rank.ops[i];
      const op_key key{row.step,          row.update,       row.micro_batch, row.phase,
                       symbol(row.scope), symbol(row.name), calls[i]};
      auto at = known.find(key);
      if (at == known.end()) {
        gathered_op fresh;
        fresh.op.step = row.step;
        fresh.op.update = row.update;
        fresh.op.micro_batch = row.micro_batch;
        fresh.op.phase = static_cast<numdiff::phase>(row.phase);
        fresh.op.scope = symbol(row.scope);
        fresh.op.name = symbol(row.name);
        fresh.op.kind = symbol(row.kind);
        fresh.op.call = calls[i];
        fresh.op.selected = select.has(rank, row);
        const auto where = follows ? std::next(cursor) : woven.end();
        at = known.emplace(key, woven.insert(where, std::move(fresh))).first;
      }
      cursor = at->second;
      follows = true;
      cursor->op.members.push_back({r, i});
      by_seq.emplace(row.seq, cursor);
    }

    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint16_t, std::uint16_t>, std::uint32_t> ordinals;
    for (std::uint32_t i = 0; i < rank.captures.size(); ++i) {
      const model::capture_row& row = rank.captures[i];
      const std::uint32_t name = symbol(row.name);
      std::list<gathered_op>::iterator home;
      std::uint32_t ordinal = 0;
      if (row.op == 0) {
        // Outside any op each capture is a place of its own.
        ordinal = ordinals[{0, name, row.role, row.usage}]++;
        const op_key key{-2, -2, -1, row.usage, name, 0, ordinal};
        auto at = known.find(key);
        if (at == known.end()) {
          gathered_op fresh;
          fresh.op.outside = true;
          fresh.op.selected = select.steps.empty() && select.scopes.empty() && select.ops.empty();
          fresh.op.call = ordinal;
          fresh.op.name = 0;
          fresh.op.scope = 0;
          // It stands behind the last op that began before it.
          auto where = woven.begin();
          const auto before = std::ranges::lower_bound(rank.ops, row.seq, {}, &model::op_row::seq);
          if (before != rank.ops.begin()) where = std::next(by_seq.at(std::prev(before)->seq));
          at = known.emplace(key, woven.insert(where, std::move(fresh))).first;
        }
        home = at->second;
        home->op.members.push_back({r, i});
        ordinal = 0;
      } else {
        const auto owner = by_seq.find(row.op);
        if (owner == by_seq.end()) {
          ++orphans_;
          continue;
        }
        home = owner->second;
        ordinal = ordinals[{row.op, name, row.role, row.usage}]++;
      }
      const capture_key key{name, row.role, row.usage, ordinal};
      auto [at, fresh] = home->by_key.emplace(key, home->captures.size());
      if (fresh) {
        logical_capture capture;
        capture.name = name;
        capture.role = static_cast<numdiff::role>(row.role);
        capture.usage = static_cast<numdiff::usage>(row.usage);
        capture.ordinal = ordinal;
        capture.written = is_written(capture.role, names.text(name));
        home->captures.push_back(std::move(capture));
      }
      home->captures[at->second].members.push_back({r, i});
    }
  }

  ops_.reserve(woven.size());
  for (gathered_op& gathered : woven) {
    gathered.op.first_capture = static_cast<std::uint32_t>(captures_.size());
    gathered.op.captures = static_cast<std::uint32_t>(gathered.captures.size());
    for (logical_capture& capture : gathered.captures) {
      capture.op = static_cast<std::uint32_t>(ops_.size());
      captures_.push_back(std::move(capture));
    }
    if (!gathered.op.outside && (first_step_ < 0 || gathered.op.step < first_step_))
      first_step_ = gathered.op.step;
    ops_.push_back(std::move(gathered.op));
  }
}

place run_index::place_of(const logical_op& op) const {
  place p;
  p.step = op.step;
  p.update = op.update;
  p.micro_batch = op.micro_batch;
  p.phase = op.phase;
  p.scope = names_.text(op.scope);
  p.op = names_.text(op.name);
  p.call = static_cast<std::int32_t>(op.call);
  return p;
}

place run_index::place_of(const logical_capture& capture) const {
  place p = place_of(ops_[capture.op]);
  p.role = capture.role;
  p.tensor = names_.text(capture.name);
  p.usage = capture.usage;
  return p;
}

}  // namespace numdiff::analysis
