#include "analysis/expect/orders.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "analysis/expect/judge.hpp"
#include "analysis/expect/variants.hpp"

namespace numdiff::analysis::expect {
namespace {

constexpr double most_values = 0x1p20;  // of what is read and written; products choose rows
constexpr double enough = 2;            // times the worst order

double square(double x) {
  return x * x;
}

std::vector<faulty_sum> orders(const grid& numbers) {
  std::vector<faulty_sum> all;
  const auto with = [&](std::size_t lanes, bool reversed) -> faulty_sum& {
    faulty_sum f;
    f.numbers = numbers;
    f.lanes = lanes;
    f.reversed = reversed;
    all.push_back(f);
    return all.back();
  };
  for (const std::size_t lanes : {1U, 4U, 16U, 64U, 256U}) with(lanes, false);
  for (const std::size_t lanes : {1U, 16U}) with(lanes, true);
  with(1, false).addends = true;
  with(1, false).pairs = true;
  return all;
}

bool affordable(const call& c) {
  if (c.op().kind == "matmul") return true;
  double values = 0;
  for (const operand& x : c.op().reads) values += static_cast<double>(x.value.values.size());
  for (const operand& x : c.op().writes) values += static_cast<double>(x.value.values.size());
  return values <= most_values;
}

// By element, the square of the largest error; negative where none was computed.
std::vector<double> worst_squares(const call& c, kind_function kind, std::size_t write,
                                  const expectation& honest) {
  std::vector<double> worst(honest.exact.size(), -1);
  const rounded_step steps{c.sum().numbers, 0};
  for (const faulty_sum& order : orders(c.sum().numbers)) {
    const call other(c.op(), &order, &steps);
    const expectation computed = std::move(kind(other).at(write));
    const std::size_t count = computed.judged.empty() ? computed.exact.size() : computed.judged.size();
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = computed.judged.empty() ? k : static_cast<std::size_t>(computed.judged[k]);
      const double low =
          (computed.low.empty() ? 0 : computed.low[i]) - (honest.low.empty() ? 0 : honest.low[i]);
      const double error = square(computed.exact[i] - honest.exact[i] + low);
      if (std::isfinite(error)) worst[i] = std::max(worst[i], error);
    }
  }
  return worst;
}

}  // namespace

bool widen_to_orders(const call& c, kind_function kind, std::size_t write, expectation& e) {
  if (!adds_up(c.op().kind) || c.sum().narrow() || e.copies || !affordable(c)) return false;
  const std::vector<double> worst = worst_squares(c, kind, write, e);
  const double share = square(enough / e.rms_limit);
  double computed = 0, expected = 0;
  for (std::size_t i = 0; i < worst.size(); ++i) {
    if (worst[i] < 0) continue;
    computed += share * worst[i];
    expected += e.variance[i];
  }
  // Rows that were not computed behave as those that were.
  const double like = expected > 0 ? std::max(1.0, computed / expected) : 1;
  bool widened = false;
  for (std::size_t i = 0; i < worst.size(); ++i) {
    const double wider = worst[i] < 0 ? like * e.variance[i] : std::max(e.variance[i], share * worst[i]);
    widened = widened || wider > e.variance[i];
    e.variance[i] = wider;
  }
  return widened;
}

}  // namespace numdiff::analysis::expect
