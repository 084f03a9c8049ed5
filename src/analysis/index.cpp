#include "analysis/index.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analysis/happens_before.hpp"
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

// A place of the program without the number of updates, which runs may count differently.
using program_key =
    std::tuple<std::int64_t, std::int32_t, numdiff::phase, std::uint32_t, std::uint32_t, std::uint32_t>;
program_key program_key_of(const logical_op& op) {
  return {op.step, op.micro_batch, op.phase, op.scope, op.name, op.call};
}

// Where the ops of one run stand in another.
std::vector<std::int64_t> places_in(const run_index& other, const std::vector<gathered_op>& ops) {
  std::map<program_key, std::int64_t> known;
  for (std::size_t i = 0; i < other.ops().size(); ++i)
    if (!other.ops()[i].outside) known.emplace(program_key_of(other.ops()[i]), static_cast<std::int64_t>(i));
  std::vector<std::int64_t> places;
  for (const gathered_op& g : ops) {
    const auto at = g.op.outside ? known.end() : known.find(program_key_of(g.op));
    places.push_back(at == known.end() ? -1 : at->second);
  }
  return places;
}

// Ops of a rank whose tensors lie on the axis of micro-batches: those of all micro-batches are one op.
std::set<std::uint64_t> over_micro_batches(const model::rank_data& rank) {
  std::set<std::uint64_t> ops;
  std::unordered_map<std::uint32_t, bool> names_axis;
  for (const model::capture_row& row : rank.captures) {
    if (row.placement == 0 || row.op == 0) continue;
    const auto [at, fresh] = names_axis.emplace(row.placement, false);
    if (fresh)
      at->second = rank.strings[row.placement].find(R"("axis":"micro_batch")") != std::string_view::npos;
    if (at->second) ops.insert(row.op);
  }
  return ops;
}

// What ranks tell of each other: collectives of one sequence number, and messages in the order of each pair.
class communication {
 public:
  // Ops of a rank in program order; `op` is the logical one.
  void add(const model::rank_data& rank, const model::op_row& row, std::uint32_t op) {
    const model::collective_row* told = collective_of(rank, row.seq);
    if (told == nullptr) return;
    const std::string communicator(rank.strings[told->communicator]);
    const auto operation = static_cast<collective_operation>(told->operation);
    if (operation == collective_operation::send) {
      channels_[{communicator, rank.rank, told->peer}].sent.push_back(op);
    } else if (operation == collective_operation::receive) {
      channels_[{communicator, told->peer, rank.rank}].received.push_back(op);
    } else if (told->sequence > 0) {
      const std::string group(rank.strings[told->ranks]);
      meetings_[{communicator, group, told->sequence}].emplace(rank.rank, op);
    }
  }

  void tell(program_orders& all) const {
    for (const auto& [key, met] : meetings_) {
      std::set<std::uint32_t> ops;
      for (const auto& [rank, op] : met) ops.insert(op);
      if (ops.size() > 1) all.meetings.emplace_back(ops.begin(), ops.end());
    }
    for (const auto& [key, c] : channels_) {
      for (std::size_t i = 0; i < std::min(c.sent.size(), c.received.size()); ++i)
        all.messages.emplace_back(c.sent[i], c.received[i]);
    }
  }

 private:
  struct channel {
    std::vector<std::uint32_t> sent, received;
  };
  std::map<std::tuple<std::string, std::int32_t, std::int32_t>, channel> channels_;
  // By rank: the op that joins it first.
  std::map<std::tuple<std::string, std::string, std::uint64_t>, std::map<std::int32_t, std::uint32_t>>
      meetings_;
};

}  // namespace

run_index::run_index(const model::run& run, symbols& names, const model::selection& select,
                     const run_index* like)
    : run_(run), names_(names) {
  std::vector<gathered_op> gathered;
  std::map<op_key, std::uint32_t> known;
  program_orders orders;
  communication between;
  const auto gather = [&](const op_key& key, auto&& describe) {
    const auto [at, fresh] = known.emplace(key, static_cast<std::uint32_t>(gathered.size()));
    if (fresh) describe(gathered.emplace_back().op);
    return at->second;
  };
  for (std::uint32_t r = 0; r < run.ranks.size(); ++r) {
    const model::rank_data& rank = run.ranks[r];
    if (!select.has_rank(rank.rank)) continue;
    reads_.insert(r);
    for (const model::event_row& event : rank.events) {
      if (static_cast<event_kind>(event.kind) == event_kind::skipped_step) skipped_.insert(event.step);
    }
    std::vector<std::uint32_t> symbol_of(rank.strings.size());
    for (std::uint32_t i = 0; i < symbol_of.size(); ++i) symbol_of[i] = names.of(rank.strings[i]);
    const auto symbol = [&](std::uint32_t id) { return id < symbol_of.size() ? symbol_of[id] : 0; };

    const std::vector<std::uint32_t> calls = model::call_numbers(rank);
    const std::set<std::uint64_t> together = over_micro_batches(rank);
    std::vector<std::pair<std::uint64_t, std::uint32_t>> program;  // seq, op
    std::unordered_map<std::uint64_t, std::uint32_t> by_seq;
    for (std::uint32_t i = 0; i < rank.ops.size(); ++i) {
      const model::op_row& row = rank.ops[i];
      const bool all = together.contains(row.seq);
      const std::int32_t micro_batch = all ? -1 : row.micro_batch;
      const op_key key{row.step,          row.update,       micro_batch, row.phase,
                       symbol(row.scope), symbol(row.name), calls[i]};
      const std::uint32_t op = gather(key, [&](logical_op& fresh) {
        fresh.step = row.step;
        fresh.update = row.update;
        fresh.micro_batch = micro_batch;
        fresh.phase = static_cast<numdiff::phase>(row.phase);
        fresh.scope = symbol(row.scope);
        fresh.name = symbol(row.name);
        fresh.kind = symbol(row.kind);
        fresh.call = calls[i];
        fresh.selected = select.has(rank, row);
      });
      gathered[op].op.members.push_back({r, i});
      by_seq.emplace(row.seq, op);
      program.emplace_back(row.seq, op);
      between.add(rank, row, op);
    }

    std::map<std::tuple<std::uint64_t, std::uint32_t, std::uint16_t, std::uint16_t>, std::uint32_t> ordinals;
    for (std::uint32_t i = 0; i < rank.captures.size(); ++i) {
      const model::capture_row& row = rank.captures[i];
      const std::uint32_t name = symbol(row.name);
      std::uint32_t home = 0, ordinal = 0;
      if (row.op == 0) {
        // Outside any op each capture is a place of its own.
        ordinal = ordinals[{0, name, row.role, row.usage}]++;
        home = gather({-2, -2, -1, row.usage, name, 0, ordinal}, [&](logical_op& fresh) {
          fresh.outside = true;
          fresh.selected = select.steps.empty() && select.scopes.empty() && select.ops.empty();
          fresh.call = ordinal;
        });
        gathered[home].op.members.push_back({r, i});
        program.emplace_back(row.seq, home);
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
      gathered_op& at_home = gathered[home];
      const capture_key key{name, row.role, row.usage, ordinal};
      auto [at, fresh] = at_home.by_key.emplace(key, at_home.captures.size());
      if (fresh) {
        logical_capture capture;
        capture.name = name;
        capture.role = static_cast<numdiff::role>(row.role);
        capture.usage = static_cast<numdiff::usage>(row.usage);
        capture.ordinal = ordinal;
        capture.written = is_written(capture.role, names.text(name));
        at_home.captures.push_back(std::move(capture));
      }
      at_home.captures[at->second].members.push_back({r, i});
    }
    std::ranges::sort(program);
    // An op of several micro-batches is over with the last of them.
    auto& order = orders.ranks.emplace_back();
    std::set<std::uint32_t> placed;
    for (auto at = program.rbegin(); at != program.rend(); ++at)
      if (placed.insert(at->second).second) order.push_back(at->second);
    std::ranges::reverse(order);
  }

  orders.ops = static_cast<std::uint32_t>(gathered.size());
  between.tell(orders);
  if (like != nullptr) orders.like = places_in(*like, gathered);
  ops_.reserve(gathered.size());
  for (const std::uint32_t op : in_order(orders)) {
    gathered_op& one = gathered[op];
    one.op.first_capture = static_cast<std::uint32_t>(captures_.size());
    one.op.captures = static_cast<std::uint32_t>(one.captures.size());
    for (logical_capture& capture : one.captures) {
      capture.op = static_cast<std::uint32_t>(ops_.size());
      captures_.push_back(std::move(capture));
    }
    if (!one.op.outside && (first_step_ < 0 || one.op.step < first_step_)) first_step_ = one.op.step;
    ops_.push_back(std::move(one.op));
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
