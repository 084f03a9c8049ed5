#include "analysis/recompute.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/lookup.hpp"
#include "analysis/measure.hpp"

namespace numdiff::analysis {

namespace {

merged_capture merged(const judged_run& run, const logical_capture& c) {
  return merge(run.index, c, run.placements);
}

distances between(const judged_run& run, const merged_capture& first, const merged_capture& again) {
  const auto values = measure_values(run.index, first, run.placements, run.index, again, run.placements);
  return values ? values->apart : measure_sketches(run.index, first, run.index, again);
}

// A read that an op of the recomputation wrote, or that came out of one.
bool recomputed_here(const judged_run& run, const logical_capture& c) {
  const link& from = run.flow.of(position(run, &c)).from;
  if (from.from < 0) return false;
  const logical_capture& source = run.index.captures()[static_cast<std::size_t>(from.from)];
  return run.index.ops()[source.op].phase == phase::recompute;
}

const logical_capture* counterpart(const run_index& run, const logical_op& op, const logical_capture& c) {
  for (const logical_capture& f : run.captures_of(op)) {
    if (f.name == c.name && f.role == c.role && f.usage == c.usage && f.ordinal == c.ordinal) return &f;
  }
  return nullptr;
}

// By digests of the first rank; scalars aside.
bool reads_alike(const run_index& run, const logical_op& op, const logical_op& again) {
  for (const logical_capture& c : run.captures_of(again)) {
    if (c.written || c.role == role::scalar) continue;
    const logical_capture* was = counterpart(run, op, c);
    if (was == nullptr) return false;
    const model::capture_row& a = run.capture_row_of(was->members.front());
    const model::capture_row& b = run.capture_row_of(c.members.front());
    if (a.dtype != b.dtype || a.digest0 != b.digest0 || a.digest1 != b.digest1) return false;
  }
  return true;
}

}  // namespace

std::map<judged_run::program_op, std::vector<std::int32_t>> judged_run::find_forward() const {
  std::map<program_op, std::vector<std::int32_t>> found;
  const auto recomputes = [](const logical_op& op) { return op.phase == phase::recompute; };
  if (std::ranges::none_of(index.ops(), recomputes)) return found;
  for (std::size_t i = 0; i < index.ops().size(); ++i) {
    const logical_op& op = index.ops()[i];
    if (op.phase == phase::forward)
      found[{op.step, op.scope, op.name}].push_back(static_cast<std::int32_t>(i));
  }
  return found;
}

// A backward pass may run through its calls and micro-batches in another order than the forward pass: the
// call that read the same is the one.
const logical_op* judged_run::forward_of(const logical_op& again) const {
  const auto at = forward.find({again.step, again.scope, again.name});
  if (at == forward.end()) return nullptr;
  const logical_op* in_place = nullptr;
  for (const std::int32_t i : at->second) {
    const logical_op& op = op_of(*this, i);
    const bool same_place = op.micro_batch == again.micro_batch && op.call == again.call;
    if (same_place) in_place = &op;
    if (reads_alike(index, op, again)) {
      in_place = &op;
      break;
    }
  }
  return in_place;
}

void add_recomputation(evidence& e, const judged_run& run, const logical_capture& c) {
  const logical_op& op = run.index.ops()[c.op];
  if (op.phase != phase::recompute || c.role == role::scalar) return;
  const logical_op* forward = run.forward_of(op);
  const logical_capture* first = forward == nullptr ? nullptr : counterpart(run.index, *forward, c);
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
    const logical_capture* was = counterpart(run.index, *forward, read);
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
