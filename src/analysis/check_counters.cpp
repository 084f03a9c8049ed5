// Counters of a run alone: they grow from one call of their op to the next.
#include <utility>

#include "analysis/checker.hpp"

namespace numdiff::analysis {

// The number of the update that an optimizer applies, and states of one whole number. Repeated calls within
// a step may share a counter; a run that starts over at an earlier step starts over.
std::optional<invariant> checker::stuck(const logical_op& op, const logical_capture& c) {
  const model::capture_row& row = run_.index.capture_row_of(c.members.front());
  if (row.count != 1 || op.step < 0 || run_.index.skipped(op.step)) return {};
  const bool update =
      c.role == role::scalar && op.phase == phase::optimizer && names_.text(c.name) == "update";
  const bool state = c.role == role::state && c.written && is_integer(static_cast<dtype>(row.dtype));
  if (!update && !state) return {};
  const double value = scalar_of(row);
  const counter_key key{op.scope, op.name, op.call, op.micro_batch, op.phase, c.name, c.ordinal};
  const auto [at, fresh] = counters_.try_emplace(key, op.step, value);
  if (fresh) return {};
  const auto [step, before] = std::exchange(at->second, std::pair{op.step, value});
  if (op.step <= step || value > before) return {};
  return invariant{"a counter that does not grow", value, before};
}

}  // namespace numdiff::analysis
