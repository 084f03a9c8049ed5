#include "analysis/expect/taint.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/expect/hidden.hpp"

namespace numdiff::analysis::expect {
namespace {

// Where nothing but padding reaches, an error this far above its limit is no rounding.
constexpr double gross = 20;

// The elements that become NaN when every hidden element of the inputs is one.
std::vector<std::uint8_t> reached(const op_instance& op, kind_function kind, std::size_t write) {
  op_instance poisoned = op;
  std::vector<model::capture_row> rows(op.reads.size());
  for (std::size_t r = 0; r < op.reads.size(); ++r) {
    operand& x = poisoned.reads[r];
    if (!hides(x)) continue;
    const std::vector<std::uint8_t> places = hidden_by_code(x);
    for (std::size_t i = 0; i < places.size(); ++i) {
      if (places[i] != 0) x.value.values[i] = std::numeric_limits<double>::quiet_NaN();
    }
    // For the kinds these are values now.
    rows[r] = *x.row;
    rows[r].hidden = 0;
    x.row = &rows[r];
  }
  const call c(poisoned);
  const expectations e = kind(c);
  std::vector<std::uint8_t> nan;
  for (const double v : e.at(write).exact) nan.push_back(std::isnan(v));
  return nan;
}

}  // namespace

void blame_padding(const op_instance& op, kind_function kind, const expectation& honest, judgement& j) {
  if (j.v != verdict::beyond || !j.cause_hint.empty() || !std::ranges::any_of(op.reads, hides)) return;
  std::vector<std::uint8_t> nan;
  try {
    nan = reached(op, kind, j.write);
  } catch (const std::exception&) {
    return;  // which elements are hidden is not told, or the kind does not take NaN
  }
  if (nan.size() != honest.exact.size()) return;
  expectation rest = honest;
  rest.judged.clear();
  const std::size_t judged = honest.judged.empty() ? honest.exact.size() : honest.judged.size();
  std::int64_t depend = 0;
  for (std::size_t k = 0; k < judged; ++k) {
    const std::size_t i = honest.judged.empty() ? k : static_cast<std::size_t>(honest.judged[k]);
    if (nan[i] != 0)
      ++depend;
    else
      rest.judged.push_back(static_cast<std::int64_t>(i));
  }
  if (depend == 0) return;
  if (rest.judged.empty()) {
    if (j.nonfinite_created == 0 && !(j.ratio > gross * j.limit)) return;
  } else if (judge(op, j.write, rest).v == verdict::beyond) {
    return;
  }
  j.cause_hint = "uninitialised";
  j.reason = "only results that hidden elements reach are off";
  j.evidence.emplace_back("depend_on_padding", static_cast<double>(depend));
  j.evidence.emplace_back("free_of_padding", static_cast<double>(rest.judged.size()));
}

}  // namespace numdiff::analysis::expect
