#include "analysis/expect/lost_steps.hpp"

namespace numdiff::analysis::expect {

// Of the nonzero steps.
constexpr double most_lost = 0.9;

void review_steps(const call& c, const operand& from, const expectation& honest, judgement& j) {
  const operand& to = c.op().writes[j.write];
  const auto kept = [](const operand& x) {
    const role r = x.row != nullptr ? static_cast<role>(x.row->role) : role::none;
    return r == role::state || r == role::weight;
  };
  if (!kept(from) && !kept(to)) return;
  if (from.value.values.size() != to.value.values.size()) return;
  std::int64_t steps = 0, unchanged = 0;
  for (std::size_t i = 0; i < to.value.values.size(); ++i) {
    if (honest.exact[i] == from.value.values[i]) continue;
    ++steps;
    unchanged += to.value.values[i] == from.value.values[i];
  }
  if (unchanged == 0 || static_cast<double>(unchanged) < most_lost * static_cast<double>(steps)) return;
  j.cause_hint = "lost-update";
  j.reason = "steps below half an ulp leave the state as it was";
  j.evidence.emplace_back("steps", static_cast<double>(steps));
  j.evidence.emplace_back("unchanged", static_cast<double>(unchanged));
}

}  // namespace numdiff::analysis::expect
