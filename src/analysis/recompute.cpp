#include "analysis/recompute.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

merged_capture merged(const judged_run& run, const logical_capture& c) {
  placement_cache placements;
  return merge(run.index, c, placements);
}

distances between(const judged_run& run, const merged_capture& first, const merged_capture& again) {
  placement_cache a, b;
  const auto values = measure_values(run.index, first, a, run.index, again, b);
  return values ? values->apart : measure_sketches(run.index, first, run.index, again);
}

// A read that an op of the recomputation wrote, or that came out of one.
bool recomputed_here(const judged_run& run, const logical_capture& c) {
  const link& from = run.flow.of(position(run, &c)).from;
  if (from.from < 0) return false;
  const logical_capture& source = run.index.captures()[static_cast<std::size_t>(from.from)];
  return run.index.ops()[source.op].phase == phase::recompute;
}

}  // namespace

judged_run::program_op judged_run::place_of_pass(const logical_op& op) {
  return {op.step, op.micro_batch, op.scope, op.name, op.call};
}

std::map<judged_run::program_op, std::int32_t> judged_run::find_forward() const {
  std::map<program_op, std::int32_t> found;
  const auto recomputes = [](const logical_op& op) { return op.phase == phase::recompute; };
  if (std::ranges::none_of(index.ops(), recomputes)) return found;
  for (std::size_t i = 0; i < index.ops().size(); ++i) {
    const logical_op& op = index.ops()[i];
    if (op.phase == phase::forward) found.emplace(place_of_pass(op), static_cast<std::int32_t>(i));
  }
  return found;
}

const logical_capture* judged_run::forward_of(const logical_capture& c) const {
  const auto at = forward.find(place_of_pass(index.ops()[c.op]));
  if (at == forward.end()) return nullptr;
  for (const logical_capture& f : index.captures_of(op_of(*this, at->second))) {
    if (f.name == c.name && f.role == c.role && f.usage == c.usage && f.ordinal == c.ordinal) return &f;
  }
  return nullptr;
}

void add_recomputation(evidence& e, const judged_run& run, const logical_capture& c) {
  const logical_op& op = run.index.ops()[c.op];
  if (op.phase != phase::recompute || c.role == role::scalar) return;
  const logical_capture* first = run.forward_of(c);
  if (first == nullptr) return;
  const merged_capture before = merged(run, *first);
  if (equal(before, *e.own) || before.count != e.own->count || before.local || e.own->local) return;
  if (!c.written) {
    // What the forward pass read and the recomputation restored, or drew again.
    if (!recomputed_here(run, c)) e.recomputed = recomputed_state::differs;
    e.from_forward = between(run, before, *e.own);
    return;
  }
  bool same_settings = true;
  for (const logical_capture& read : run.index.captures_of(op)) {
    if (read.written) continue;
    const logical_capture* was = run.forward_of(read);
    if (was != nullptr && equal(merged(run, *was), merged(run, read))) continue;
    if (read.role != role::scalar) return;  // the read carries the difference
    same_settings = false;
  }
  e.from_forward = between(run, before, *e.own);
  if (!same_settings || (e.local != nullptr && e.local->v == verdict::beyond)) {
    e.recomputed = recomputed_state::differs;
  } else if (e.local != nullptr && e.local->v == verdict::within) {
    e.recomputed = recomputed_state::repeats;
  } else if (e.from_forward.from_values || e.from_forward.from_sketch) {
    // Without replay: another order of the same sums stays within a few roundings of its result.
    const model::op_row& row = run.index.op_row_of(op.members.front());
    const auto length = static_cast<double>(std::max<std::int64_t>({1, row.reduction_length, row.k}));
    const auto inner = static_cast<dtype>(row.accumulate_dtype);
    const double unit = unit_roundoff(e.type), sums = inner == dtype::unknown ? unit : unit_roundoff(inner);
    const double noise = unit + sums * std::sqrt(length);
    if (std::isfinite(noise))
      e.recomputed =
          e.from_forward.relative_l2 > 16 * noise ? recomputed_state::differs : recomputed_state::repeats;
  }
}

}  // namespace numdiff::analysis
