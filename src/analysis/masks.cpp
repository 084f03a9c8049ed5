// Masks hide by a number so low that nothing is left of it behind a softmax; which number is a matter of
// format and taste (-inf, -1e9, the lowest of the format), and no difference between runs.
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/values.hpp"

namespace numdiff::analysis {

namespace {

constexpr double low = -1e3;  // exp of it is zero in every format
constexpr std::int64_t window = 1 << 16, most_mask_values = 1 << 24;

bool hides(double fill, double amax) {
  return fill <= low && fill <= -2 * amax;
}

double largest_read(const std::vector<item>& items) {
  double amax = 0;
  for (const item& x : items) {
    if (!x.counted || x.any().written || x.any().role == role::scalar) continue;
    amax = std::max({amax, x.reference_merged->amax, x.test_merged->amax});
  }
  return amax;
}

// Zero everywhere but where it hides, as its counts and extremes tell.
bool may_be_mask(const judged_run& run, const merged_capture& m) {
  if (m.zero == 0 || m.zero == m.count || m.positive_infinity + m.nan > 0 || is_integer(m.type)) return false;
  return std::ranges::all_of(m.parts, [&](const member& part) {
    const model::capture_row& row = run.index.capture_row_of(part);
    return !(row.maximum > 0) && (!(row.smallest > 0) || row.smallest >= -low);
  });
}

}  // namespace

// A mask among the reads whose rows without any visible entry are as large a share as NaN are of the result.
bool empty_rows_made(const judged_run& run, const merged_capture& result, std::span<const seen_capture> all) {
  for (const seen_capture& in : all) {
    const merged_capture& m = *in.merged;
    if (in.capture->written || in.capture->role == role::scalar || m.shape.empty() || m.shape.back() < 2)
      continue;
    const bool visible = m.type == dtype::boolean;
    if ((!visible && !may_be_mask(run, m)) || m.zero == 0) continue;
    value_reader values(run.index, m, run.placements);
    if (!values.readable() || values.size() > most_mask_values) continue;
    std::vector<double> x(static_cast<std::size_t>(values.size()));
    values.read<double>(0, x);
    const auto width = static_cast<std::size_t>(m.shape.back());
    std::int64_t rows = 0, empty = 0;
    for (std::size_t first = 0; first + width <= x.size(); first += width) {
      const auto row = std::span(x).subspan(first, width);
      ++rows;
      empty += std::ranges::all_of(row, [&](double v) { return visible ? v == 0 : v <= low; });
    }
    if (empty > 0 && result.nan * rows == empty * result.count) return true;
  }
  return false;
}

// What a mask fills hidden places with.
void comparer::judge_fills(std::vector<item>& items) {
  const double amax = largest_read(items);
  for (item& x : items) {
    if (!x.counted || x.any().role != role::scalar || x.verdict != verdict::beyond) continue;
    if (test_.index.kind_of(test_.index.ops()[x.test->op]) != "mask" || names_.text(x.test->name) != "fill")
      continue;
    const double r = scalar_of(reference_.index.capture_row_of(x.reference->members.front()));
    const double t = scalar_of(test_.index.capture_row_of(x.test->members.front()));
    if (hides(r, amax) && hides(t, amax)) x.verdict = verdict::within;
  }
}

// A mask that is added: the same places hidden, whatever by.
comparer::mask_pair comparer::same_masks(const merged_capture& r, const merged_capture& t) {
  if (!may_be_mask(reference_, r) || !may_be_mask(test_, t) || r.zero != t.zero) return mask_pair::no;
  value_reader a(reference_.index, r, reference_.placements), b(test_.index, t, test_.placements);
  if (!a.readable() || !b.readable() || a.size() != b.size()) return mask_pair::perhaps;
  std::vector<double> x, y;
  for (std::int64_t first = 0; first < a.size(); first += window) {
    x.resize(static_cast<std::size_t>(std::min(window, a.size() - first)));
    y.resize(x.size());
    a.read<double>(first, x);
    b.read<double>(first, y);
    for (std::size_t i = 0; i < x.size(); ++i)
      if (!(x[i] == 0 && y[i] == 0) && !(x[i] <= low && y[i] <= low)) return mask_pair::no;
  }
  return mask_pair::yes;
}

// Infinities of a mask in one run where the other has a finite number, on the way to a softmax.
bool comparer::only_fills_differ(const item& x) const {
  const merged_capture &r = *x.reference_merged, &t = *x.test_merged;
  const std::int32_t writer = test_.flow.of(position(test_, x.test)).from.from;
  if (!x.any().written && writer >= 0 && off_[static_cast<std::size_t>(writer)]) return false;
  const auto to_softmax = [](const judged_run& run, std::int32_t at) {
    const logical_capture& c = run.index.captures()[static_cast<std::size_t>(at)];
    if (c.written) return static_cast<bool>(run.softmax_inputs[static_cast<std::size_t>(at)]);
    const std::int32_t from = run.flow.of(at).from.from;
    return run.index.kind_of(run.index.ops()[c.op]) == "softmax" ||
           (from >= 0 && run.softmax_inputs[static_cast<std::size_t>(from)]);
  };
  return r.nan == t.nan && r.positive_infinity == t.positive_infinity &&
         to_softmax(reference_, position(reference_, x.reference)) &&
         to_softmax(test_, position(test_, x.test));
}

}  // namespace numdiff::analysis
