// What lies between an op that writes a tensor and the op that reads it.
#include <algorithm>
#include <cmath>

#include "analysis/bag.hpp"
#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"

namespace numdiff::analysis {

namespace {

enum class kept { same, changed, unknown };

kept near_numbers(judged_run& run, const merged_capture& a, const merged_capture& b) {
  const auto scaled = [&](const merged_capture& m) {
    return run.index.capture_row_of(m.parts.front()).scaling != 0;
  };
  const bool same_form = a.type == b.type && !a.partial && !b.partial && !scaled(a) && !scaled(b);
  const double unit = std::max(unit_roundoff(a.type), unit_roundoff(b.type));
  const double steps = a.partial ? 4 * static_cast<double>(a.parts.size()) : 4;
  if (const auto values = measure_values(run.index, a, run.placements, run.index, b, run.placements)) {
    const distances& d = values->apart;
    if (d.nan_mismatch + d.inf_mismatch > 0) return kept::changed;
    if (same_form) return d.different == 0 ? kept::same : kept::changed;
    return d.relative_l2 <= steps * unit ? kept::same : kept::changed;
  }
  if (same_form && a.has_digest && b.has_digest && a.shape == b.shape) return kept::changed;
  if (!a.has_sketch || !b.has_sketch) return kept::unknown;
  const distances d = measure_sketches(run.index, a, run.index, b);
  if (d.contaminated) return kept::unknown;
  return d.relative_l2 <= steps * unit ? kept::same : kept::changed;
}

// Whether the numbers that one capture of a run wrote are those that another one read: as they are, or once
// rounded or summed on the way by a step that nobody captured.
kept same_numbers(judged_run& run, std::int32_t written, std::int32_t read) {
  const merged_capture a =
      merge(run.index, run.index.captures()[static_cast<std::size_t>(written)], run.placements);
  const merged_capture b =
      merge(run.index, run.index.captures()[static_cast<std::size_t>(read)], run.placements);
  if (a.local || b.local || a.count != b.count || a.hidden != b.hidden) return kept::unknown;
  if (equal(a, b)) return kept::same;
  const kept found = near_numbers(run, a, b);
  const bool moved =
      found == kept::changed && (same_bag(a, b) || same_bag_rounded(run.index, a, run.index, b));
  return moved ? kept::unknown : found;
}

bool has_origin(const run_index& run, std::int32_t capture) {
  return tells_origin(run.capture_row_of(run.captures()[static_cast<std::size_t>(capture)].members.front()));
}

}  // namespace

// The capture of this run that stands for what the other run's read was computed from: the twin of its
// writer, or of what stands before it where only the other run has casts, copies or collectives.
std::int32_t comparer::expected_writer(std::int32_t partner, side where) const {
  const judged_run& other = where == side::test ? reference_ : test_;
  const std::vector<std::int32_t>& twins = where == side::test ? twin_of_reference_ : twin_of_test_;
  for (int hops = 0; hops < 16; ++hops) {
    const link& from = other.flow.of(partner).from;
    if (from.origin == origin::none || from.from < 0) return -1;
    partner = from.from;
    if (from.origin == origin::read) continue;
    if (const std::int32_t twin = twins[static_cast<std::size_t>(partner)]; twin >= 0) return twin;
    const logical_op& writer =
        other.index.ops()[other.index.captures()[static_cast<std::size_t>(partner)].op];
    if (!is_auxiliary(other.index.kind_of(writer), writer.phase)) return -1;
    partner = -1;
    for (std::uint32_t i = 0; i < writer.captures && partner < 0; ++i) {
      const auto at = static_cast<std::int32_t>(writer.first_capture + i);
      const logical_capture& c = other.index.captures()[static_cast<std::size_t>(at)];
      if (!c.written && c.role != role::scalar && c.role != role::scale) partner = at;
    }
    if (partner < 0) return -1;
  }
  return -1;
}

// A weight that another op of the same step wrote than in the reference. Numbers that several ops wrote have
// no single writer, and an op without a partner says nothing.
bool comparer::reads_other_tensor(std::int32_t capture, std::int32_t partner) const {
  const run_index& run = test_.index;
  if (run.captures()[static_cast<std::size_t>(capture)].role != role::weight) return false;
  if (!has_origin(run, capture) || !has_origin(reference_.index, partner)) return false;
  const link &own = test_.flow.of(capture).from, &other = reference_.flow.of(partner).from;
  if (own.origin != origin::written || other.origin != origin::written || !own.only || !other.only)
    return false;
  const std::int32_t right = twin_of_reference_[static_cast<std::size_t>(other.from)];
  if (right < 0 || right == own.from || twin_of_test_[static_cast<std::size_t>(own.from)] < 0) return false;
  const auto step_of = [&](std::int32_t c) {
    return run.ops()[run.captures()[static_cast<std::size_t>(c)].op].step;
  };
  return step_of(right) == step_of(own.from);
}

// Whether casts and copies on the way from one capture of a run to another only rounded.
bool comparer::keeps_numbers(side where, std::int32_t before, std::int32_t after) {
  return same_numbers(where == side::test ? test_ : reference_, before, after) == kept::same;
}

// What is missing between a read and its writer: by the run's own habits, or because the other run's
// counterpart has a writer whose twin here wrote other numbers. A run that was captured from a later step on
// has older tensors without one.
comparer::passage comparer::passage_of(std::int32_t capture, std::int32_t partner, side where) {
  judged_run& run = where == side::test ? test_ : reference_;
  const judged_run& other = where == side::test ? reference_ : test_;
  const read_flow& flow = run.flow.of(capture);
  if (flow.gap != gap::none) return {flow.gap, -1};
  if (where == side::test && reads_other_tensor(capture, partner)) return {gap::other_tensor, -1};
  if (flow.from.origin != origin::none || !other.flow.computed(partner)) return {};
  if (!has_origin(other.index, partner)) return {};
  if (flow.first && run.index.first_step() > other.index.first_step()) return {};
  if (flow.foreign) return {gap::foreign_rank, -1};
  const std::int32_t writer = expected_writer(partner, where);
  if (writer < 0) return {};
  switch (same_numbers(run, writer, capture)) {
    case kept::same: return {gap::none, writer};
    case kept::changed: return {gap::no_writer, writer};
    case kept::unknown: break;
  }
  return {};
}

}  // namespace numdiff::analysis
