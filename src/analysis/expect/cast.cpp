// A cast or quantisation: every element is the nearest number of the destination at its scale.
#include <algorithm>
#include <cmath>

#include "analysis/expect/kinds.hpp"
#include "analysis/expect/scale_misuse.hpp"
#include "analysis/expect/scales.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/format.hpp"

namespace numdiff::analysis::expect {
namespace {

// Positions and counters: whole numbers, each one more than its neighbour, that must stay apart. A few floats
// may be such by chance.
void review_counters(const tensor& x, const tensor& y, judgement& j) {
  constexpr std::size_t no_chance = 16;
  if (is_integer(y.type) || !x.scales.empty() || !y.scales.empty()) return;
  if (!is_integer(x.type) && (x.values.size() < no_chance ||
                              !std::ranges::all_of(x.values, [](double v) { return v == std::floor(v); })))
    return;
  std::int64_t steps = 0, collapsed = 0, first = -1;
  for (std::size_t i = 1; i < x.values.size(); ++i) {
    if (x.values[i] != x.values[i - 1] + 1) continue;
    ++steps;
    if (y.values[i] != x.values[i] && first < 0) first = static_cast<std::int64_t>(i);
    collapsed += y.values[i] == y.values[i - 1];
  }
  if (collapsed == 0 || static_cast<double>(steps) < 0.9 * static_cast<double>(x.values.size() - 1)) return;
  j.v = verdict::beyond;
  j.cause_hint = "unrepresentable-integer";
  j.reason = "neighbouring integers became equal";
  j.evidence.emplace_back("collapsed", static_cast<double>(collapsed));
  j.evidence.emplace_back("first_collapsed", static_cast<double>(first));
}

// The codes were made, or read, with other scales than their own.
void try_misuses(const call& c, expectation& e) {
  const operand &from = c.op().reads.front(), &to = c.op().writes.front();
  for (const scale_misuse& how : scale_misuses(to)) {
    e.hypotheses.push_back({how.cause, how.form, [&to, how](const expectation& honest) {
                              std::vector<double> values = honest.exact;
                              const std::vector<double> ratio = how.ratio();
                              if (ratio.empty()) return ratio;
                              const dtype t = to.value.type;
                              for (std::size_t i = 0; i < values.size(); ++i) {
                                const double scale = to.value.scales[i];
                                const cast_rule cut = {rounding::nearest_even, overflow::to_maximum};
                                values[i] = scale * decode(t, encode(t, values[i] / ratio[i] / scale, cut));
                              }
                              return values;
                            }});
  }
  for (const scale_misuse& how : scale_misuses(from)) {
    e.hypotheses.push_back(
        {how.cause, how.form, [&from, how](const expectation&) { return misread(from, how).values; }});
  }
}

// Integers past the range that keep their low bits instead of ending at the largest number.
void try_wrapping(const call& c, expectation& e) {
  const tensor& y = c.write(0);
  const int bits = format_of(y.type).bits;
  if (!is_integer(y.type) || bits > 32) return;
  e.hypotheses.push_back(
      {"cast-overflow", "numbers past the range wrap around", [&y, bits](const expectation& honest) {
         std::vector<double> values = honest.exact;
         const double span = std::ldexp(1.0, bits), least = -grid_of(y.type).maximum - 1;
         const double lowest = format_of(y.type).is_signed ? least : 0;
         for (std::size_t i = 0; i < values.size(); ++i) {
           const double scale = y.scales.empty() ? 1 : y.scales[i];
           if (scale == 0 || !std::isfinite(values[i])) continue;
           const double code = std::nearbyint(values[i] / scale);
           values[i] = (code - span * std::floor((code - lowest) / span)) * scale;
         }
         return values;
       }});
}

}  // namespace

expectations cast(const call& c) {
  const tensor &x = c.read(0), &y = c.write(0);
  require(x.values.size() == y.values.size(), "operands of different size");
  expectations e(1);
  e[0].resize(x.values.size(), c.wide());
  // The scaled value is a float before it is rounded: an encode scale and a product, one unit each.
  const double rho = rho_factor * grid_of(dtype::f32).unit();
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const double v = x.values[i];
    e[0].set(i, v, y.scales.empty() ? 0 : 4 * rho * rho * v * v);
  }
  try_misuses(c, e[0]);
  try_wrapping(c, e[0]);
  e[0].review = [&c, &x, &y](const expectation& honest, judgement& j) {
    review_counters(x, y, j);
    review_scales(c.op().reads.front(), c.op().writes.front(), honest, j);
  };
  return e;
}

}  // namespace numdiff::analysis::expect
