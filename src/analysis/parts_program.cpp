#include "analysis/parts_program.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/kinds.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

using expect::cannot_replay;
using expect::require;

namespace {

bool holds_everywhere(double x) {
  return x == 0 || x == 1 || std::isinf(x);
}

const member* member_of(const half& h, std::int32_t op, std::int32_t world_rank) {
  for (const member& m : h.op(op).members) {
    if (h.run.rank_of(m).rank == world_rank) return &m;
  }
  return nullptr;
}

op_instance log_sums_of(const op_instance& softmax) {
  op_instance op = softmax;
  op.kind = "log_sum_exp";
  op.writes.resize(1);
  tensor& y = op.writes[0].value;
  require(!y.shape.empty(), "a softmax of a number");
  y = {dtype::f32, {y.shape.begin(), y.shape.end() - 1}, {}, {}, {}};
  y.values.resize(expect::count_of(y.shape));
  return op;
}

stored_op take(const half& h, std::int32_t op, std::int32_t world_rank) {
  const member* m = member_of(h, op, world_rank);
  require(m != nullptr, "the runs have other ranks here");
  stored_op one = stored(h.run, h.op(op), *m);
  if (!one.why_not.empty()) throw cannot_replay(one.why_not);
  return one;
}

}  // namespace

parts_program::parts_program(const half& parts, const half& fused, std::int32_t world_rank)
    : parts_(parts), fused_(fused) {
  choose_ops();
  for (const std::int32_t i : fused_.ops) fused_ops_.push_back(take(fused_, i, world_rank));
  std::set<std::int32_t> written_by_fused;
  for (const stored_op& one : fused_ops_) written_by_fused.insert(one.writes.begin(), one.writes.end());
  for (std::size_t o = 0; o < fused_ops_.size(); ++o) {
    for (std::size_t r = 0; r < fused_ops_[o].reads.size(); ++r) {
      if (!written_by_fused.contains(fused_.writer(fused_ops_[o].reads[r]))) outer_.emplace_back(o, r);
    }
  }
  // What the fused ops compute again themselves is computed again from what they read.
  for (std::set<std::int32_t> again; program_.empty() || !again.empty();) {
    ops_.merge(again);
    require(ops_.size() <= most_ops, "too many ops without a partner");
    load(world_rank);
    again = connect();
  }
}

// Casts and copies between two parts run with them.
bool parts_program::inside(std::int32_t capture, int hops) {
  const std::int32_t w = parts_.writer(capture);
  if (w < 0 || hops == 0) return false;
  const auto op = static_cast<std::int32_t>(parts_.capture(w).op);
  if (ops_.contains(op)) return true;
  const logical_op& between = parts_.op(op);
  const std::string_view kind = parts_.run.kind_of(between);
  if (!is_auxiliary(kind, between.phase) || is_collective(kind) || !replays(kind)) return false;
  const std::int32_t read = parts_.first_read(between);
  if (read < 0 || !inside(read, hops - 1)) return false;
  ops_.insert(op);
  return true;
}

void parts_program::choose_ops() {
  ops_.insert(parts_.ops.begin(), parts_.ops.end());
  for (const std::int32_t i : parts_.ops) {
    const logical_op& op = parts_.op(i);
    for (std::uint32_t k = 0; k < op.captures; ++k) {
      const auto at = static_cast<std::int32_t>(op.first_capture + k);
      if (!parts_.capture(at).written && parts_.capture(at).role != role::scalar)
        static_cast<void>(inside(at));
    }
  }
}

void parts_program::load(std::int32_t world_rank) {
  program_.clear();
  for (const std::int32_t i : ops_) {
    part p;
    p.stored = take(parts_, i, world_rank);
    p.row = *p.stored.op.row;
    program_.push_back(std::move(p));
  }
  for (part& p : program_) {
    p.stored.op.row = &p.row;
    if (p.stored.op.kind == "softmax") p.log_sums = log_sums_of(p.stored.op);
  }
  note_formats();
}

// What the fused ops may round to inside: their inputs' format, and their accumulator where the parts' is
// wider.
void parts_program::note_formats() {
  coarse_ = expect::grid_of(dtype::f64);
  for (const stored_op& one : fused_ops_) {
    for (const operand& x : one.op.reads) {
      const dtype t = x.value.type;
      if (is_integer(t) || !x.value.scales.empty() || bytes_of(t) < 2 ||
          format_of(t).kind != number_kind::floating)
        continue;
      if (expect::grid_of(t).precision < coarse_.precision) coarse_ = expect::grid_of(t);
    }
    const auto own = static_cast<dtype>(one.op.row->accumulate_dtype);
    for (part& p : program_) {
      const expect::accumulator sum = expect::accumulator_of(p.row);
      if (own == dtype::unknown || is_integer(own)) continue;
      if (one.op.row->split > 1 && sum.split == 1 && p.stored.op.kind == "matmul") {
        p.row.split = one.op.row->split;
        p.row.partial_dtype = one.op.row->partial_dtype;
        p.row.order = static_cast<std::uint16_t>(reduction_order::unknown);
      }
      if (expect::accumulator_of(*one.op.row).unit() <= sum.unit()) continue;
      p.row.accumulate_dtype = one.op.row->accumulate_dtype;
      p.row.accumulate_bits = one.op.row->accumulate_bits;
      p.row.accumulate_rounding = one.op.row->accumulate_rounding;
      p.row.order = static_cast<std::uint16_t>(reduction_order::unknown);
    }
  }
}

std::set<std::int32_t> parts_program::connect() {
  read_inside_.clear();
  shared_.clear();
  std::set<std::int32_t> again;
  std::map<std::int32_t, const tensor*> written;
  for (part& p : program_) {
    p.sources.resize(p.stored.reads.size());
    for (std::size_t r = 0; r < p.stored.reads.size(); ++r) {
      const std::int32_t w = parts_.writer(p.stored.reads[r]);
      const auto at = written.find(w);
      if (at == written.end()) {
        if (from_fused(p, r)) continue;
        if (missing_.empty()) missing_ = p.stored.op.reads[r].name;
        const std::int32_t op = w < 0 ? -1 : static_cast<std::int32_t>(parts_.capture(w).op);
        const std::string_view kind = op < 0 ? "" : parts_.run.kind_of(parts_.op(op));
        if (op < 0 || !replays(kind) || is_collective(kind))
          throw cannot_replay("the fused op does not read \"" + missing_ + "\" of its parts");
        again.insert(op);
        continue;
      }
      const tensor& own = p.stored.op.reads[r].value;
      const auto how = arrange(at->second->values, at->second->shape, own.shape, own.values);
      require(how.has_value() && how->distance == 0,
              "a part reads another layout than the one before it wrote");
      p.sources[r] = {w, *how};
      read_inside_.insert(w);
    }
    for (std::size_t k = 0; k < p.stored.writes.size(); ++k)
      written[p.stored.writes[k]] = &p.stored.op.writes[k].value;
  }
  return again;
}

// A read of the parts from outside is what the fused ops read in its place, if they do.
bool parts_program::from_fused(part& p, std::size_t read) {
  operand& x = p.stored.op.reads[read];
  std::optional<arrangement> best;
  const operand* from = nullptr;
  std::int32_t capture = -1;
  for (const auto& [o, r] : outer_) {
    const operand& y = fused_ops_[o].op.reads[r];
    if (is_integer(x.value.type) != is_integer(y.value.type)) continue;
    std::optional<arrangement> how = arrange(y.value.values, y.value.shape, x.value.shape, x.value.values);
    if (!how) continue;
    // Where the runs are far apart already, only names tell.
    if (how->distance > same_tensor && (y.name != x.name || !how->source.empty())) continue;
    if (best && !(how->distance < best->distance)) continue;
    best = std::move(how);
    from = &y;
    capture = fused_ops_[o].reads[r];
  }
  if (from == nullptr) {
    // A mask or a position that the fused op makes itself.
    return is_integer(x.value.type) || x.value.type == dtype::boolean ||
           std::ranges::all_of(x.value.values, holds_everywhere);
  }
  x.value.values = best->apply(from->value.values);
  if (best->source.empty()) shared_.push_back({p.stored.reads[read], capture});
  return true;
}

}  // namespace numdiff::analysis
