#include "analysis/expect/sum_reviews.hpp"

#include <algorithm>
#include <cmath>

#include "analysis/expect/broadcast.hpp"
#include "analysis/expect/lost_steps.hpp"

namespace numdiff::analysis::expect {
namespace {

// Zero, or so low that a second one leaves the range, or beyond it already.
bool is_mask(const tensor& x, double maximum) {
  bool hides = false;
  for (const double v : x.values) {
    if (v == 0) continue;
    if (!(v <= -maximum / 4)) return false;
    hides = hides || std::isfinite(v);
  }
  return hides;
}

void review_masks(const call& c, judgement& j) {
  if (j.cause_hint != "op-overflow" || j.nonfinite_replayed == 0) return;
  const double maximum = grid_of(c.write(0).type).maximum;
  std::int64_t masks = 0;
  for (const operand& x : c.op().reads) masks += is_mask(x.value, maximum);
  if (masks == 0) return;
  j.cause_hint = "mask-add-overflow";
  j.reason = "masks of the most negative number are added";
  j.evidence.emplace_back("masks_added", static_cast<double>(masks));
}

// How many results are no larger than some roundings of the two numbers that cancel in them.
void review_cancellation(const call& c, const expectation& honest, judgement& j) {
  constexpr double roundings = 64;  // of an operand that is itself a long sum
  if (c.op().reads.size() != 2) return;
  const broadcast x(c.read(0), c.write(0).shape), y(c.read(1), c.write(0).shape);
  const double unit = std::max(grid_of(c.read(0).type).unit(), grid_of(c.read(1).type).unit());
  std::int64_t gone = 0, all = 0;
  double condition = 0;
  for (std::size_t i = 0; i < honest.exact.size(); ++i) {
    const double size = std::fabs(x[i]), rest = std::fabs(honest.exact[i]);
    if (!std::isfinite(size) || !std::isfinite(rest)) continue;
    ++all;
    if (size == 0 || rest > roundings * unit * size) continue;
    ++gone;
    condition = std::max(condition, size / std::max(rest, grid_of(c.read(0).type).unit() * size));
  }
  if (gone == 0) return;
  j.evidence.emplace_back("cancelled_share", static_cast<double>(gone) / static_cast<double>(all));
  j.evidence.emplace_back("cancelled_condition", condition);
}

}  // namespace

void review_sum(const call& c, const expectation& honest, judgement& j) {
  review_masks(c, j);
  if (c.op().reads.size() == 2) review_steps(c, c.op().reads[0], honest, j);
  review_cancellation(c, honest, j);
}

}  // namespace numdiff::analysis::expect
