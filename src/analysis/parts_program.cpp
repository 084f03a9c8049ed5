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

// Uniform errors of deviation 1, the same for one seed.
double error_of(std::uint64_t seed, std::size_t i) {
  std::uint64_t x = seed * 0x9e3779b97f4a7c15u + i;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  x ^= x >> 31;
  return (static_cast<double>(x >> 11) * 0x1p-53 - 0.5) * std::sqrt(12.0);
}

const member* member_of(const half& h, std::int32_t op, std::int32_t world_rank) {
  for (const member& m : h.op(op).members) {
    if (h.run.rank_of(m).rank == world_rank) return &m;
  }
  return nullptr;
}

}  // namespace

parts_program::parts_program(const half& parts, const half& fused, std::int32_t world_rank)
    : parts_(parts), fused_(fused) {
  choose_ops(world_rank);
  note_formats();
  connect();
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

void parts_program::choose_ops(std::int32_t world_rank) {
  ops_.insert(parts_.ops.begin(), parts_.ops.end());
  for (const std::int32_t i : parts_.ops) {
    const logical_op& op = parts_.op(i);
    for (std::uint32_t k = 0; k < op.captures; ++k) {
      const auto at = static_cast<std::int32_t>(op.first_capture + k);
      if (!parts_.capture(at).written && parts_.capture(at).role != role::scalar)
        static_cast<void>(inside(at));
    }
  }
  const auto take = [&](const half& h, std::int32_t i) {
    const member* m = member_of(h, i, world_rank);
    require(m != nullptr, "the runs have other ranks here");
    stored_op one = stored(h.run, h.op(i), *m);
    if (!one.why_not.empty()) throw cannot_replay(one.why_not);
    return one;
  };
  for (const std::int32_t i : ops_) {
    part p;
    p.stored = take(parts_, i);
    p.row = *p.stored.op.row;
    program_.push_back(std::move(p));
  }
  for (part& p : program_) p.stored.op.row = &p.row;
  for (const std::int32_t i : fused_.ops) fused_ops_.push_back(take(fused_, i));
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

void parts_program::connect() {
  std::set<std::int32_t> written_by_fused;
  for (const stored_op& one : fused_ops_) written_by_fused.insert(one.writes.begin(), one.writes.end());
  for (std::size_t o = 0; o < fused_ops_.size(); ++o) {
    for (std::size_t r = 0; r < fused_ops_[o].reads.size(); ++r) {
      if (!written_by_fused.contains(fused_.writer(fused_ops_[o].reads[r]))) outer_.emplace_back(o, r);
    }
  }
  std::map<std::int32_t, const tensor*> written;
  for (part& p : program_) {
    p.sources.resize(p.stored.reads.size());
    for (std::size_t r = 0; r < p.stored.reads.size(); ++r) {
      const std::int32_t w = parts_.writer(p.stored.reads[r]);
      const auto at = written.find(w);
      if (at == written.end()) {
        from_fused(p, r);
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
}

// A read of the parts from outside is what the fused ops read in its place.
void parts_program::from_fused(part& p, std::size_t read) {
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
    const bool own = is_integer(x.value.type) || x.value.type == dtype::boolean ||
                     std::ranges::all_of(x.value.values, holds_everywhere);
    if (!own) throw cannot_replay("the fused op does not read \"" + std::string(x.name) + "\" of its parts");
    return;
  }
  x.value.values = best->apply(from->value.values);
  if (best->source.empty()) shared_.push_back({p.stored.reads[read], capture});
}

std::map<std::int32_t, std::vector<double>> parts_program::once(std::uint64_t seed) {
  std::map<std::int32_t, std::vector<double>> values;
  for (std::size_t n = 0; n < program_.size(); ++n) {
    part& p = program_[n];
    for (std::size_t r = 0; r < p.sources.size(); ++r) {
      if (p.sources[r].from >= 0)
        p.stored.op.reads[r].value.values = p.sources[r].how.apply(values.at(p.sources[r].from));
    }
    const expect::call c(p.stored.op);
    expect::expectations all = expect::find_kind(p.stored.op.kind)(c);
    for (std::size_t w = 0; w < all.size() && w < p.stored.writes.size(); ++w) {
      expect::expectation& e = all[w];
      require(e.exact.size() == p.stored.op.writes[w].value.values.size(),
              "a part of another shape than its inputs imply");
      require(e.judged.empty(), "its parts are too large to replay whole");
      const std::int32_t capture = p.stored.writes[w];
      std::vector<double> v = e.exact;
      if (seed != 0 && !e.copies) {
        expect::output_format stored = expect::output_format_of(p.stored.op, p.stored.op.writes[w]);
        const expect::output_format coarse{coarse_, rounding::nearest_even, false, nullptr};
        for (std::size_t i = 0; i < v.size(); ++i) {
          if (!std::isfinite(v[i])) continue;
          const double rounded = std::max(stored.variance(v[i], i), coarse.variance(v[i], i));
          const double one_sided = e.bound.empty() ? 0 : e.bound[i] * e.bound[i] / 3;
          v[i] += std::sqrt(e.variance[i] + rounded + one_sided) * error_of(seed * 1000003 + n * 16 + w, i);
        }
      }
      if (seed == 0) {
        composed& out = results_[capture];
        out = {e.exact,   std::vector<double>(v.size(), 0.0), e.variance, e.bound,
               e.defects, p.stored.op.writes[w].value.shape};
      } else {
        // The change by noise in what the part read: its own roundings are the result's.
        composed& out = results_[capture];
        for (std::size_t i = 0; i < v.size(); ++i) {
          const double change = e.exact[i] - out.values[i];
          if (std::isfinite(change)) out.squares[i] += change * change;
        }
      }
      if (const auto known = known_.find(capture); known != known_.end()) {
        const auto& [begin, deviation] = known->second;
        v = begin;
        for (std::size_t i = 0; i < deviation.size() && seed != 0; ++i) {
          if (std::isfinite(v[i])) v[i] += deviation[i] * error_of(seed * 1000003 + n * 16 + w, i);
        }
      }
      values[capture] = std::move(v);
    }
  }
  return values;
}

void parts_program::begin_at(std::int32_t capture, std::size_t fused, std::size_t write) {
  const composed& c = results_.at(capture);
  const stored_op& writer = fused_ops_[fused];
  const operand& written = writer.op.writes[write];
  const auto as_parts = [&](const operand& x) -> std::optional<arrangement> {
    auto how = arrange(x.value.values, x.value.shape, c.shape, c.values);
    if (!how || how->distance > same_tensor) return std::nullopt;
    return how;
  };
  const auto how = as_parts(written);
  if (!how) return;
  start& at = known_[capture];
  at.values = how->apply(written.value.values);
  // Another fused op reads it as it is, or cast.
  std::optional<std::vector<double>> cast;
  for (const stored_op& one : fused_ops_) {
    for (std::size_t r = 0; r < one.reads.size(); ++r) {
      if (fused_.writer(one.reads[r]) == writer.writes[write]) return;
      if (cast || fused_.behind(one.reads[r]) != writer.writes[write]) continue;
      if (const auto same = as_parts(one.op.reads[r])) cast = same->apply(one.op.reads[r].value.values);
    }
  }
  if (cast) {
    at.values = std::move(*cast);
    return;
  }
  const expect::output_format stored = expect::output_format_of(writer.op, written);
  std::vector<double> deviation(written.value.values.size());
  for (std::size_t i = 0; i < deviation.size(); ++i)
    deviation[i] = std::sqrt(stored.variance(written.value.values[i], i));
  at.deviation = how->apply(deviation);
}

std::map<double, std::string> parts_program::factors(std::int32_t capture) const {
  std::map<double, std::string> all;
  const auto note = [&](std::int32_t i, const part& p) {
    const std::string& op = parts_.run.names().text(parts_.op(i).name);
    for (const auto& [name, value] : p.stored.op.scalars) {
      if (name == "alpha" || name == "scale" || name == "factor") all.emplace(value, name + " of " + op);
      if (name == "count" && value != 0) all.emplace(1 / value, "the division by the count of " + op);
    }
  };
  for (const bool writer : {true, false}) {
    auto p = program_.begin();
    for (const std::int32_t i : ops_) {
      if (!writer || static_cast<std::uint32_t>(i) == parts_.capture(capture).op) note(i, *p);
      ++p;
    }
  }
  return all;
}

void parts_program::run() {
  static_cast<void>(once(0));
  for (std::uint64_t seed = 1; seed <= noisy_runs; ++seed) static_cast<void>(once(seed));
}

}  // namespace numdiff::analysis
