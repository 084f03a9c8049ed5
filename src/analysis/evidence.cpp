// All that is known about one capture, gathered for the rules.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/addends.hpp"
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"
#include "analysis/recompute.hpp"
#include "analysis/values.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

// The same elements with dimensions joined or split: every boundary of one shape is a boundary of the other.
bool regroups(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b) {
  const auto boundaries = [](const std::vector<std::int64_t>& shape) {
    std::set<std::int64_t> all;
    std::int64_t inner = 1;
    for (auto d = shape.rbegin(); d != shape.rend(); ++d) all.insert(inner *= *d);
    return all;
  };
  const auto x = boundaries(a), y = boundaries(b);
  return std::ranges::includes(x, y) || std::ranges::includes(y, x);
}

merged_capture merged_of(const judged_run& run, std::int32_t capture) {
  placement_cache placements;
  return merge(run.index, run.index.captures()[static_cast<std::size_t>(capture)], placements);
}

// Within one group every number is brought by several ranks, who got it from a reduction: it is summed again.
bool sums_again(const judged_run& run, const logical_op& op, const logical_capture& read, std::int32_t at) {
  const read_flow& flow = run.flow.of(at);
  if (flow.from.from < 0 || flow.from.origin < origin::moved) return false;
  const logical_op& writer =
      run.index.ops()[run.index.captures()[static_cast<std::size_t>(flow.from.from)].op];
  if (run.index.kind_of(writer) != "all_reduce") return false;
  std::map<std::vector<std::int32_t>, std::map<std::pair<std::uint64_t, std::uint64_t>, int>> brought;
  for (const member& m : op.members) {
    const model::rank_data& rank = run.index.rank_of(m);
    const auto own = std::ranges::find(read.members, m.rank, &member::rank);
    const model::collective_row* row = collective_of(rank, run.index.op_row_of(m).seq);
    if (row == nullptr || own == read.members.end()) return false;
    const model::capture_row& x = run.index.capture_row_of(*own);
    if (x.amax == 0) continue;
    ++brought[group_ranks(rank, *row, run.index.run().world_size)][{x.digest0, x.digest1}];
  }
  return std::ranges::any_of(brought, [](const auto& group) {
    return std::ranges::all_of(group.second, [](const auto& one) { return one.second > 1; });
  });
}

// Whether a constant is the other run's as one of the op's formats holds it.
bool rounds_to(double constant, double other, const model::op_row& op) {
  for (const std::uint16_t code : {op.input_dtype, op.input2_dtype, op.accumulate_dtype, op.output_dtype}) {
    const auto type = static_cast<dtype>(code);
    if (type == dtype::unknown || is_integer(type) || is_complex(type) || unit_roundoff(type) == 0) continue;
    if (decode(type, encode(type, other)) == constant) return true;
  }
  return false;
}

void add_collective(evidence& e, const judged_run& run, const logical_op& op) {
  e.collective = true;
  if (op.members.empty()) return;
  const model::collective_row* row =
      collective_of(run.index.rank_of(op.members.front()), run.index.op_row_of(op.members.front()).seq);
  if (row == nullptr) return;
  e.group_size = row->size;
  e.averages = static_cast<reduction>(row->reduction) == reduction::average;
  if (static_cast<reduction>(row->reduction) != reduction::sum) return;
  if (e.kind != "all_reduce" && e.kind != "reduce_scatter") return;
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& read = run.index.captures()[static_cast<std::size_t>(at)];
    if (!read.written && read.role != role::scalar && sums_again(run, op, read, at)) e.reduces_twice = true;
  }
}

// The same finite inputs in both runs, the same format, and what one run stores at the maximum the other
// stores as an infinity or NaN.
bool saturates_otherwise(const item& x, const std::vector<item>& all) {
  const merged_capture &r = *x.reference_merged, &t = *x.test_merged;
  const std::int64_t nonfinite = t.nonfinite() - r.nonfinite();
  if (!x.any().written || r.type != t.type || nonfinite == 0 || r.largest - t.largest != nonfinite)
    return false;
  return std::ranges::all_of(all, [](const item& in) {
    if (!in.counted || in.any().written) return in.any().written;
    const bool agrees = in.verdict == verdict::equal || in.verdict == verdict::within;
    return agrees && in.test_merged->nonfinite() == 0 && in.reference_merged->nonfinite() == 0;
  });
}

}  // namespace

evidence comparer::evidence_of(const item& x, const op_pair& pair, side where, const std::vector<item>& all,
                               const local_result& local) const {
  const bool is_test = where == side::test;
  const judged_run& run = is_test ? test_ : reference_;
  const logical_capture& c = is_test ? *x.test : *x.reference;
  const logical_op& op = run.index.ops()[c.op];
  evidence e;
  e.seen_in = where;
  e.kind = run.index.kind_of(op);
  e.op_name = names_.text(op.name);
  e.phase = op.phase;
  e.role = c.role;
  e.written = c.written;
  e.skipped_step = run.index.skipped(op.step);
  e.own = is_test ? &*x.test_merged : &*x.reference_merged;
  const auto& partner = is_test ? x.reference_merged : x.test_merged;
  e.partner = partner ? &*partner : nullptr;
  e.type = e.own->type;
  if (e.partner != nullptr) e.partner_type = e.partner->type;
  const std::int32_t at = position(run, &c);
  e.feeds_softmax = run.softmax_inputs[static_cast<std::size_t>(at)];
  e.replayed = local.done;
  if (const local_judgement* j = judgement_of(local, at)) e.local = &j->worst;
  if (e.local != nullptr && e.local->v == verdict::beyond)
    e.factor_upstream = run.applied_before(op, e.local->factor, names_);
  for (const member& m : c.members) {
    const model::rank_data& rank = run.index.rank_of(m);
    const model::capture_row& row = run.index.capture_row_of(m);
    if (const model::cast_row* cast = cast_of(rank, row.seq)) {
      e.cast_count += cast->count;
      e.cast_beyond += cast->beyond_maximum;
      e.cast_overflowing += cast->overflowing;
      e.cast_flushed += cast->flushed;
      e.cast_nan += cast->nan;
      const model::scales_row* scales = scales_of(rank, row.seq);
      const format f = format_of(e.type);
      if (scales != nullptr && scales->count == 1 && scales->maximum > 0 && f.is_float()) {
        e.cast_headroom = std::max(e.cast_headroom, cast->amax / (scales->maximum * f.max_finite()));
      }
    }
    if (const model::scales_row* scales = scales_of(rank, row.seq)) {
      e.scales_zero += scales->zero;
      e.scales_nonfinite += scales->nan + scales->infinite;
    }
  }
  if (const auto missing = gaps_.find({at, where}); missing != gaps_.end())
    e.gap = missing->second.gap;
  else if (!c.written && !x.counted)
    e.gap = run.flow.of(at).gap;
  if (is_test) {
    const auto source = sources_.find(at);
    if (source != sources_.end()) e.source = source->second;
  }
  e.rescaled = x.counted && run.rescaled(at);
  std::int64_t unwanted_reads = 0;
  bool unequal_reads = false;
  for (const item& in : all) {
    const logical_capture* other = is_test ? in.test : in.reference;
    const auto& merged = is_test ? in.test_merged : in.reference_merged;
    if (other == nullptr || other->written) continue;
    const auto& in_partner = is_test ? in.reference_merged : in.test_merged;
    // A mask's fill is read by softmax; it makes no NaN by itself.
    unwanted_reads += e.kind == "softmax" ? merged->nan + merged->positive_infinity
                                          : unwanted(e.kind, *merged, in_partner ? &*in_partner : nullptr);
    unequal_reads = unequal_reads || merged->unequal_replica >= 0;
  }
  e.nonfinite_created = c.written && unwanted_reads == 0 && unwanted(e.kind, *e.own, e.partner) > 0 &&
                        (e.partner == nullptr || e.partner->nonfinite() < e.own->nonfinite());
  bool promised = c.written ? !unequal_reads : true;
  if (e.own->unequal_replica >= 0 && !c.written && run.flow.of(at).from.from >= 0) {
    // Its writer is to blame for what it promised itself; of terms it promised only their sum.
    const merged_capture wrote = merged_of(run, run.flow.of(at).from.from);
    promised = wrote.unequal_replica < 0;
    e.read_terms = wrote.partial;
  }
  if (e.own->unequal_replica >= 0 && promised) {
    e.unequal_replica = e.own->unequal_replica;
    if (e.partner != nullptr) {
      placement_cache placements;
      value_reader whole((is_test ? reference_ : test_).index, *e.partner, placements);
      if (whole.readable()) e.adds_up = add_up_to(run.index, c, whole);
    }
  }
  if (is_collective(e.kind)) add_collective(e, run, op);
  add_recomputation(e, run, c);
  if (const auto gap = gaps_.find({at, where}); gap != gaps_.end() && gap->second.writer >= 0) {
    const merged_capture wrote = merged_of(run, gap->second.writer);
    placement_cache placements;
    if (const auto far = measure_values(run.index, wrote, placements, run.index, *e.own, placements))
      e.changed = far->apart;
  }
  if (x.counted) {
    e.apart = x.apart;
    e.other_overflow = saturates_otherwise(x, all);
    if (c.role == role::scalar && x.verdict == verdict::beyond) {
      e.scalar_differs = is_test;
      e.scalar = scalar_of(test_.index.capture_row_of(x.test->members.front()));
      e.partner_scalar = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
      e.scalar_rounded =
          rounds_to(e.scalar, e.partner_scalar,
                    test_.index.op_row_of(op_of(test_, pair.test).members.front())) ||
          rounds_to(e.partner_scalar, e.scalar,
                    reference_.index.op_row_of(op_of(reference_, pair.reference).members.front()));
      if (names_.text(c.name) == "factor") {
        e.scalar_factor = true;
        e.factor_upstream = run.applied_before(op, e.scalar / e.partner_scalar, names_);
      }
    }
    if (is_test && c.written && !e.replayed && x.verdict == verdict::beyond) e.apart_limit = x.limit;
    if (is_test && c.role != role::scalar && !e.own->local && e.partner != nullptr && !e.partner->local &&
        e.own->covered && e.partner->covered && pair.fate == fate::matched) {
      e.structure = e.own->count != e.partner->count ||
                    (e.source != source_state::none && !regroups(e.own->shape, e.partner->shape));
    }
  }
  return e;
}

}  // namespace numdiff::analysis
