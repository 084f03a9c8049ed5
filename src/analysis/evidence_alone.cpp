// What a run says about one of its captures without any other run.
#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "analysis/align.hpp"
#include "analysis/collectives.hpp"
#include "analysis/delayed.hpp"
#include "analysis/invariants.hpp"
#include "analysis/lookup.hpp"
#include "analysis/nonfinite.hpp"
#include "analysis/recompute.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

merged_capture merged_of(const judged_run& run, std::int32_t capture) {
  return merge(run.index, run.index.captures()[static_cast<std::size_t>(capture)], run.placements);
}

// Scales that make whatever they decode non-finite.
std::int64_t unwanted_scales(const run_index& run, const logical_capture& c) {
  std::int64_t count = 0;
  for (const member& m : c.members) {
    const model::scales_row* scales = scales_of(run.rank_of(m), run.capture_row_of(m).seq);
    if (scales != nullptr) count += scales->nan + scales->infinite;
  }
  return count;
}

// Whether an op divides by this operand. The root of the smallest number is far from it: its reciprocal is
// infinite for no other reason.
bool divides_by(std::string_view kind, std::int64_t operand) {
  return (kind == "divide" && operand == 1) || (kind == "reciprocal_square_root" && operand == 0);
}

// Every number that counts is zero or the largest of its format.
bool masks(const merged_capture& x) {
  return x.at_maximum > 0 && x.zero + x.excluded() == x.count && x.nan + x.positive_infinity == 0;
}

void count_casts(const run_index& run, const logical_capture& c, evidence& e) {
  for (const member& m : c.members) {
    const model::rank_data& rank = run.rank_of(m);
    const model::capture_row& row = run.capture_row_of(m);
    const model::scales_row* scales = scales_of(rank, row.seq);
    if (const model::cast_row* cast = cast_of(rank, row.seq)) {
      e.cast_count += cast->count;
      e.cast_beyond += cast->beyond_maximum;
      e.cast_overflowing += cast->overflowing;
      e.cast_flushed += cast->flushed;
      e.cast_nan += cast->nan;
      const format f = format_of(e.type);
      if (scales != nullptr && scales->count == 1 && scales->maximum > 0 && f.is_float()) {
        e.cast_headroom = std::max(e.cast_headroom, cast->amax / (scales->maximum * f.max_finite()));
        e.scale_is_one = scales->maximum == 1;
      }
    }
    if (scales != nullptr) {
      e.scales_zero += scales->zero;
      e.scales_nonfinite += scales->nan + scales->infinite;
    }
  }
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

void add_collective(evidence& e, const judged_run& run, const logical_op& op) {
  e.collective = true;
  if (op.members.empty()) return;
  const model::collective_row* row =
      collective_of(run.index.rank_of(op.members.front()), run.index.op_row_of(op.members.front()).seq);
  if (row == nullptr) return;
  e.group_size = row->size;
  e.world_size = run.index.run().world_size;
  e.averages = static_cast<reduction>(row->reduction) == reduction::average;
  if (static_cast<reduction>(row->reduction) != reduction::sum) return;
  if (e.kind != "all_reduce" && e.kind != "reduce_scatter") return;
  for (std::uint32_t i = 0; i < op.captures; ++i) {
    const auto at = static_cast<std::int32_t>(op.first_capture + i);
    const logical_capture& read = run.index.captures()[static_cast<std::size_t>(at)];
    if (!read.written && read.role != role::scalar && sums_again(run, op, read, at)) e.reduces_twice = true;
  }
}

}  // namespace

evidence evidence_alone(const judged_run& run, const seen_capture& x, std::span<const seen_capture> all,
                        const local_result& local) {
  const logical_capture& c = *x.capture;
  const logical_op& op = run.index.ops()[c.op];
  const std::int32_t at = position(run, &c);
  evidence e;
  e.kind = run.index.kind_of(op);
  e.op_name = run.index.names().text(op.name);
  e.phase = op.phase;
  e.role = c.role;
  e.written = c.written;
  e.skipped_step = run.index.skipped(op.step);
  e.own = x.merged;
  e.partner = x.partner;
  e.type = e.own->type;
  e.feeds_softmax = run.softmax_inputs[static_cast<std::size_t>(at)];
  e.is_scale = std::ranges::any_of(c.members, [&](const member& m) {
    const model::capture_row& row = run.index.capture_row_of(m);
    return c.written && run.scales.contains({row.digest0, row.digest1});
  });
  e.feeds_root = run.roots_and_divisors[static_cast<std::size_t>(at)];
  e.replayed = local.done;
  if (const local_judgement* j = judgement_of(local, at)) e.local = &j->worst;
  if (e.local != nullptr && e.local->v == verdict::beyond)
    e.factor_upstream = run.applied_before(op, e.local->factor);
  count_casts(run.index, c, e);
  e.follows_step_before =
      e.cast_headroom > 1 && e.cast_headroom <= largest_spike && follows_step_before(run.index, op, c);
  if (!c.written) e.gap = run.flow.of(at).gap;
  e.rescaled = run.rescaled(at);
  std::int64_t unwanted_reads = 0, empty_reads = 0, worse_reads = 0, operand = 0;
  bool unequal_reads = false;
  for (const seen_capture& in : all) {
    if (in.capture->written) {
      e.beside_result = e.beside_result ||
                        (c.written && in.merged->count >= 8 * e.own->count && in.merged->nonfinite() == 0);
      continue;
    }
    if (in.capture->role != role::scalar && divides_by(e.kind, operand++) && in.merged->zero > 0)
      e.divides_by_zero = true;
    empty_reads += in.merged->negative_infinity > 0;
    worse_reads += in.merged->nan + in.merged->positive_infinity;
    e.scaled_reads = e.scaled_reads || run.index.capture_row_of(in.capture->members.front()).scaling != 0;
    e.hides_inputs = e.hides_inputs || in.merged->hidden > 0;
    e.adds_masks = e.adds_masks || (e.kind == "add" && masks(*in.merged));
    unwanted_reads += unwanted_read(e.kind, *in.merged, in.partner) + unwanted_scales(run.index, *in.capture);
    unequal_reads = unequal_reads || in.merged->unequal_replica >= 0;
  }
  e.nonfinite_created = c.written && unwanted_reads == 0 && unwanted(e.kind, *e.own, e.partner) > 0 &&
                        (e.partner == nullptr || e.partner->nonfinite() < e.own->nonfinite());
  e.masked_rows = e.nonfinite_created && !e.replayed && e.own->nan > 0 && empty_rows_made(run, *e.own, all);
  e.merges_empty = c.written && empty_reads >= 2 && worse_reads == 0 && e.own->nan > 0 &&
                   (e.partner == nullptr || e.partner->nan < e.own->nan);
  bool promised = c.written ? !unequal_reads : true;
  if (e.own->unequal_replica >= 0 && !c.written && run.flow.of(at).from.from >= 0) {
    // Its writer is to blame for what it promised itself; of terms it promised only their sum.
    const merged_capture wrote = merged_of(run, run.flow.of(at).from.from);
    promised = wrote.unequal_replica < 0;
    e.read_terms = wrote.partial;
  }
  if (promised) e.unequal_replica = e.own->unequal_replica;
  if (is_collective(e.kind)) {
    add_collective(e, run, op);
    if (c.written) e.group_broken = broken_group(run.index, op);
    if (c.written && e.unequal_replica < 0) e.unequal_replica = unequal_result(run.index, op, c);
  }
  add_recomputation(e, run, c);
  e.broken = broken_invariant(run, x, all);
  return e;
}

}  // namespace numdiff::analysis
