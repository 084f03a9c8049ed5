// Kinds that choose: argmax, top_k, sample, and relu with its gradient. Where both answers are right, the
// stored one is.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "analysis/expect/hidden.hpp"
#include "analysis/expect/kinds.hpp"

namespace numdiff::analysis::expect {
namespace {

// The candidates of each choice: rows over the last dimension, hidden ones left out.
class candidates {
 public:
  candidates(const call& c, std::size_t rows)
      : x_(c.read(0)), hidden_(hidden_by_code(c.op().reads[0])), length_(0) {
    require(rows > 0 && x_.values.size() % rows == 0, "the choices do not fit the rows of their input");
    length_ = x_.values.size() / rows;
    require(length_ > 0 && (rows == 1 || length_ == last_of(x_.shape)),
            "choices over other than the last dimension");
    const bool nan = std::ranges::any_of(x_.values, [](double v) { return std::isnan(v); });
    require(!nan, "a NaN among the candidates");
  }
  [[nodiscard]] std::size_t length() const { return length_; }
  [[nodiscard]] double value(std::size_t row, std::size_t i) const {
    const std::size_t at = row * length_ + i;
    return !hidden_.empty() && hidden_[at] != 0 ? -HUGE_VAL : x_.values[at];
  }
  [[nodiscard]] bool hides(std::size_t row, double id) const {
    return !hidden_.empty() && names(id) && hidden_[row * length_ + static_cast<std::size_t>(id)] != 0;
  }
  [[nodiscard]] bool names(double id) const {
    return id >= 0 && id < static_cast<double>(length_) && id == std::floor(id);
  }

 private:
  const tensor& x_;
  std::vector<std::uint8_t> hidden_;
  std::size_t length_;
};

// Choices that fell on hidden candidates.
void review_hidden(const call& c, std::size_t rows, judgement& j) {
  if (j.v != verdict::beyond || !hides(c.op().reads[0])) return;
  const std::vector<double>& ids = c.write(0).values;
  const candidates x(c, rows);
  std::int64_t padded = 0;
  for (std::size_t i = 0; i < ids.size(); ++i) padded += x.hides(i / (ids.size() / rows), ids[i]);
  if (padded == 0) return;
  j.cause_hint = "uninitialised";
  j.reason = "hidden candidates were chosen";
  j.evidence.emplace_back("hidden_chosen", static_cast<double>(padded));
}

expectation of_size(const tensor& y) {
  expectation e;
  e.resize(y.values.size(), false);
  e.copies = true;
  return e;
}

// The k largest of a row, the largest first.
std::vector<std::size_t> ranked(const candidates& x, std::size_t row, std::size_t k) {
  std::vector<std::size_t> order(x.length());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k), order.end(),
                    [&](std::size_t a, std::size_t b) {
                      const double u = x.value(row, a), v = x.value(row, b);
                      return u != v ? u > v : a < b;
                    });
  order.resize(k);
  return order;
}

// Whether the stored ids are k different candidates and none that was left out is larger.
bool are_largest(const candidates& x, std::size_t row, const double* ids,
                 const std::vector<std::size_t>& best) {
  std::vector<double> chosen, largest;
  std::vector<double> seen(ids, ids + best.size());
  std::ranges::sort(seen);
  if (std::ranges::adjacent_find(seen) != seen.end()) return false;
  for (std::size_t i = 0; i < best.size(); ++i) {
    if (!x.names(ids[i])) return false;
    chosen.push_back(x.value(row, static_cast<std::size_t>(ids[i])));
    largest.push_back(x.value(row, best[i]));
  }
  std::ranges::sort(chosen);
  std::ranges::sort(largest);
  return chosen == largest;
}

}  // namespace

expectations argmax(const call& c) {
  const tensor& y = c.write(0);
  const candidates x(c, y.values.size());
  expectations e(1, of_size(y));
  for (std::size_t r = 0; r < y.values.size(); ++r) {
    const std::size_t best = ranked(x, r, 1)[0];
    const double id = y.values[r];
    const bool right = x.names(id) && x.value(r, static_cast<std::size_t>(id)) == x.value(r, best);
    e[0].exact[r] = right ? id : static_cast<double>(best);
  }
  e[0].review = [&c](const expectation&, judgement& j) { review_hidden(c, c.write(0).values.size(), j); };
  return e;
}

// Ids of the k largest in any order, and optionally their values.
expectations top_k(const call& c) {
  const tensor& ids = c.write(0);
  require(is_integer(ids.type), "the ids of the largest are written first");
  const std::size_t k = last_of(ids.shape), rows = k > 0 ? ids.values.size() / k : 0;
  const candidates x(c, rows);
  require(k <= x.length(), "more choices than candidates");
  expectations e(c.writes(), of_size(ids));
  for (std::size_t w = 1; w < e.size(); ++w) {
    require(c.write(w).values.size() == ids.values.size(), "one value for each id");
    e[w].copies = c.write(w).type == c.read(0).type;
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const std::vector<std::size_t> best = ranked(x, r, k);
    const bool right = are_largest(x, r, ids.values.data() + r * k, best);
    for (std::size_t i = 0; i < k; ++i) {
      const double id = right ? ids.values[r * k + i] : static_cast<double>(best[i]);
      e[0].exact[r * k + i] = id;
      for (std::size_t w = 1; w < e.size(); ++w)
        e[w].exact[r * k + i] = x.value(r, static_cast<std::size_t>(id));
    }
  }
  e[0].review = [&c, rows](const expectation&, judgement& j) { review_hidden(c, rows, j); };
  return e;
}

// The first candidate at which the running sum of the probabilities exceeds u, within the rounding of the
// sum.
expectations sample(const call& c) {
  const tensor &u = c.read(1), &y = c.write(0);
  require(u.values.size() == y.values.size(), "one random number for each choice");
  const candidates x(c, y.values.size());
  expectations e(1, of_size(y));
  for (std::size_t r = 0; r < y.values.size(); ++r) {
    const double id = y.values[r], slack = 2 * c.unit() * static_cast<double>(x.length());
    long double below = 0, before = 0, after = 0;
    std::size_t exact = x.length() - 1;
    bool found = false;
    for (std::size_t i = 0; i < x.length(); ++i) {
      const double p = std::max(0.0, x.value(r, i));
      if (static_cast<double>(i) == id) before = below;
      below += static_cast<long double>(p);
      if (static_cast<double>(i) == id) after = below;
      if (!found && below > static_cast<long double>(u.values[r])) {
        exact = i;
        found = true;
      }
    }
    const bool right = x.names(id) && static_cast<double>(before) - slack <= u.values[r] &&
                       u.values[r] <= static_cast<double>(after) + slack;
    e[0].exact[r] = right ? id : static_cast<double>(exact);
  }
  e[0].review = [&c](const expectation&, judgement& j) { review_hidden(c, c.write(0).values.size(), j); };
  return e;
}

expectations relu(const call& c) {
  const tensor &x = c.read(0), &y = c.write(0);
  require(x.values.size() == y.values.size(), "operands of different size");
  expectations e(1, of_size(y));
  e[0].copies = x.type == y.type && x.scales.empty() && y.scales.empty();
  for (std::size_t i = 0; i < x.values.size(); ++i) e[0].exact[i] = x.values[i] <= 0 ? 0 : x.values[i];
  return e;
}

// At 0 the slope is 0 or 1.
expectations relu_gradient(const call& c) {
  const tensor &dy = c.read(0), &x = c.read(1), &dx = c.write(0);
  require(x.values.size() == dx.values.size() && dy.values.size() == dx.values.size(),
          "operands of different size");
  expectations e(1, of_size(dx));
  e[0].copies = dy.type == dx.type && dy.scales.empty() && dx.scales.empty();
  for (std::size_t i = 0; i < x.values.size(); ++i) {
    const bool open = x.values[i] > 0 || (x.values[i] == 0 && dx.values[i] != 0) || std::isnan(x.values[i]);
    e[0].exact[i] = open ? dy.values[i] : 0;
  }
  return e;
}

}  // namespace numdiff::analysis::expect
