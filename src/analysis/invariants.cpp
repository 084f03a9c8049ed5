#include "analysis/invariants.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include "analysis/align.hpp"
#include "analysis/collectives.hpp"
#include "analysis/lookup.hpp"
#include "analysis/measure.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis {

namespace {

bool is(std::string_view kind, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, kind) != names.end();
}

// Unit roundoff of what the op adds in.
double inner_unit(const judged_run& run, const logical_op& op) {
  const auto type = static_cast<dtype>(run.index.op_row_of(op.members.front()).accumulate_dtype);
  return type == dtype::unknown || is_integer(type) ? 0 : unit_roundoff(type);
}

double smallest_of(const judged_run& run, const logical_capture& c) {
  double least = HUGE_VAL;
  for (const member& m : c.members) {
    const double here = run.index.capture_row_of(m).minimum;
    if (!std::isnan(here)) least = std::min(least, here);
  }
  return least;
}

std::optional<invariant> probabilities(const judged_run& run, const seen_capture& x) {
  const merged_capture& m = *x.merged;
  if (m.shape.empty() || m.shape.back() <= 0 || !m.covered || m.partial || m.count == 0) return {};
  const auto width = static_cast<double>(m.shape.back());
  const double rows = static_cast<double>(m.count) / width;
  const double inner = inner_unit(run, run.index.ops()[x.capture->op]);
  const format f = format_of(m.type);
  // Every probability is rounded once; the sum that divides them by up to one unit for each term.
  const double off = 2 * unit_roundoff(m.type) + std::min(0.5, (width + 8) * inner);
  if (!(off < 0.5)) return {};
  double least = HUGE_VAL, most = -HUGE_VAL;
  for (const member& one : x.capture->members) {
    const model::capture_row& row = run.index.capture_row_of(one);
    if (std::isnan(row.minimum)) continue;
    least = std::min(least, row.minimum);
    most = std::max(most, row.maximum);
  }
  if (least < 0) return invariant{"a probability below 0", least, 0};
  if (most > 1 + off) return invariant{"a probability above 1", most, 1};
  const double slack = rows * off + static_cast<double>(m.count) * (f.is_float() ? f.min_subnormal() : 0);
  // Rows that see nothing may be all zero.
  const double empty = std::min(rows, std::floor(static_cast<double>(m.zero + m.hidden) / width));
  const double missing = std::clamp(std::round(rows - m.sum), 0.0, empty);
  if (!(std::abs(rows - missing - m.sum) <= slack))
    return invariant{"the probabilities of its rows do not add up to 1", m.sum / rows, 1};
  return {};
}

// The second of the states that an optimizer of Adam's kind holds, in capture order.
bool is_second_moment(const seen_capture& x, std::span<const seen_capture> all) {
  if (x.capture->role != role::state) return false;
  int before = 0;
  for (const seen_capture& other : all) {
    if (other.capture == x.capture) return before == 1;
    before += other.capture->role == role::state && other.capture->written == x.capture->written;
  }
  return false;
}

}  // namespace

std::optional<invariant> broken_invariant(const judged_run& run, const seen_capture& x,
                                          std::span<const seen_capture> all) {
  const logical_capture& c = *x.capture;
  const logical_op& op = run.index.ops()[c.op];
  if (op.outside || c.members.empty() || op.members.empty()) return {};
  for (const member& m : c.members) {
    const model::scales_row* scales = scales_of(run.index.rank_of(m), run.index.capture_row_of(m).seq);
    if (scales != nullptr && scales->count > 0 && scales->minimum < 0)
      return invariant{"a scale below 0", scales->minimum, 0};
  }
  if (!c.written) return {};
  const std::string_view kind = run.index.kind_of(op);
  const bool scaled = run.index.capture_row_of(c.members.front()).scaling != 0;
  if (kind == "softmax" && c.role == role::output && !scaled && !x.merged->local &&
      x.merged->excluded() == x.merged->hidden)
    return probabilities(run, x);
  if (is(kind, {"variance", "square", "sum_of_squares", "square_root", "amax", "exponential",
                "reciprocal_square_root"}) ||
      (kind == "adamw" && is_second_moment(x, all))) {
    const double least = smallest_of(run, c);
    if (least < 0) return invariant{"a value below 0 where none can be", least, 0};
  }
  if (kind == "maximum_count") {
    const double least = smallest_of(run, c);
    const bool numbers = std::ranges::none_of(
        all, [](const seen_capture& in) { return !in.capture->written && in.merged->nan > 0; });
    if (least < 1 && numbers) return invariant{"a maximum that no element equals", least, 1};
  }
  if (kind == "amax") {
    const auto source = std::ranges::find_if(
        all, [](const seen_capture& in) { return !in.capture->written && in.capture->role != role::scalar; });
    const bool comparable = source != all.end() && c.members.size() == source->capture->members.size() &&
                            x.merged->count == 1 && x.merged->nonfinite() == 0 &&
                            source->merged->nonfinite() + source->merged->hidden == 0;
    for (std::size_t i = 0; comparable && i < c.members.size(); ++i) {
      const double told = run.index.capture_row_of(c.members[i]).amax;
      const double seen = run.index.capture_row_of(source->capture->members[i]).amax;
      if (std::abs(told - seen) > 2 * unit_roundoff(x.merged->type) * seen)
        return invariant{"it is not the largest magnitude of what it read", told, seen};
    }
  }
  if (is_collective(kind)) return broken_result(run, x, all);
  return {};
}

}  // namespace numdiff::analysis
