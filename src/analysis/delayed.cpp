#include "analysis/delayed.hpp"

#include <algorithm>
#include <optional>

#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

constexpr double rounded_scale = 1 - 0x1p-20;  // of a quotient in fp32

// The largest value that the one scale of a tensor reaches, 0 when not told.
double reach_of(const run_index& run, const member& written) {
  const model::capture_row& row = run.capture_row_of(written);
  const model::scales_row* scales = scales_of(run.rank_of(written), row.seq);
  const format f = format_of(static_cast<dtype>(row.dtype));
  return scales != nullptr && scales->count == 1 && f.is_float() ? scales->maximum * f.max_finite() : 0;
}

// The largest magnitude that the op read in the step before on a rank, over micro-batches.
std::optional<double> amax_before(const run_index& run, const logical_op& op, std::uint32_t rank) {
  std::optional<double> amax;
  for (auto i = static_cast<std::size_t>(&op - run.ops().data()); i-- > 0;) {
    const logical_op& earlier = run.ops()[i];
    if (earlier.step >= 0 && earlier.step < op.step - 1) break;
    if (earlier.step != op.step - 1 || earlier.scope != op.scope || earlier.name != op.name ||
        earlier.phase != op.phase || earlier.kind != op.kind || earlier.call != op.call)
      continue;
    for (const logical_capture& c : run.captures_of(earlier)) {
      if (c.written || c.role == role::scalar || c.role == role::scale) continue;
      for (const member& m : c.members)
        if (m.rank == rank) amax = std::max(amax.value_or(0), run.capture_row_of(m).amax);
    }
  }
  return amax;
}

}  // namespace

// Each rank by what it quantised itself: a history that the ranks share reaches as much.
bool follows_step_before(const run_index& run, const logical_op& op, const logical_capture& written) {
  return std::ranges::all_of(written.members, [&](const member& m) {
    const double reach = reach_of(run, m);
    const std::optional<double> before = amax_before(run, op, m.rank);
    return reach > 0 && before && reach >= rounded_scale * *before;
  });
}

void acquit_delayed_scales(const run_index& run, const logical_op& op, local_result& result) {
  for (local_judgement& j : result.outputs) {
    if (!(j.worst.outgrown <= largest_spike) || j.worst.outgrown == 0) continue;
    if (!follows_step_before(run, op, run.captures()[static_cast<std::size_t>(j.capture)])) continue;
    j.worst.v = verdict::within;
    j.worst.cause_hint.clear();
    j.worst.reason = "the values have grown since the step that its scale follows";
    j.ranks.clear();
  }
}

}  // namespace numdiff::analysis
