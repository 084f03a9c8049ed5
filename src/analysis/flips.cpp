// Discrete choices that differ between the runs although each is right for what it read: a benign finding
// with the margin by which they were decided.
#include <algorithm>
#include <cmath>
#include <set>

#include "analysis/comparer.hpp"
#include "analysis/lookup.hpp"
#include "analysis/values.hpp"

namespace numdiff::analysis {

namespace {

struct flip_count {
  std::int64_t flips = 0, choices = 0;
  double margin = 0, error = 0;  // of the flip with the largest margin

  void take(double by, double input_error) {
    ++flips;
    if (flips > 1 && by <= margin) return;
    margin = by;
    error = input_error;
  }
};

// One tensor of both runs, window by window.
struct both {
  value_reader reference, test;

  [[nodiscard]] bool readable() const {
    return reference.readable() && test.readable() && reference.size() == test.size();
  }
  [[nodiscard]] std::int64_t size() const { return test.size(); }
  void read(std::int64_t first, std::vector<double>& r, std::vector<double>& t) {
    reference.read<double>(first, r);
    test.read<double>(first, t);
  }
};

bool known(double id, std::size_t length) {
  return id >= 0 && id < static_cast<double>(length);
}

// How much the test preferred what it took to what the reference took, and the input errors that stand
// behind.
void take_row(flip_count& count, const std::vector<double>& ids_r, const std::vector<double>& ids_t,
              const std::vector<double>& r, const std::vector<double>& t) {
  const std::set<double> in_r(ids_r.begin(), ids_r.end()), in_t(ids_t.begin(), ids_t.end());
  std::vector<std::size_t> taken, left;
  for (const double id : in_t) {
    if (!in_r.contains(id) && known(id, t.size())) taken.push_back(static_cast<std::size_t>(id));
  }
  for (const double id : in_r) {
    if (!in_t.contains(id) && known(id, t.size())) left.push_back(static_cast<std::size_t>(id));
  }
  if (taken.empty() || left.empty()) {
    count.take(0, 0);  // the same ones in another order
    return;
  }
  const auto by_test = [&](std::size_t a, std::size_t b) { return t[a] < t[b]; };
  const std::size_t a = *std::ranges::max_element(taken, by_test),
                    b = *std::ranges::min_element(left, by_test);
  count.take(t[a] - t[b], std::abs(t[a] - r[a]) + std::abs(t[b] - r[b]));
}

// Running sums of probabilities at the place where the choices part.
void take_sample(flip_count& count, double id_r, double id_t, double u, const std::vector<double>& r,
                 const std::vector<double>& t) {
  const auto last = static_cast<std::size_t>(std::min(id_r, id_t));
  double below_r = 0, below_t = 0;
  for (std::size_t i = 0; i <= last && i < t.size(); ++i) {
    below_r += r[i];
    below_t += t[i];
  }
  count.take(std::abs(below_t - u), std::abs(below_t - below_r));
}

flip_count choices(both& ids, both& x, both* u, std::int64_t rows) {
  flip_count count;
  count.choices = rows;
  const std::int64_t k = ids.size() / rows, length = x.size() / rows;
  std::vector<double> ids_r(static_cast<std::size_t>(k)), ids_t(ids_r.size());
  std::vector<double> r(static_cast<std::size_t>(length)), t(r.size()), u_r(1), u_t(1);
  for (std::int64_t row = 0; row < rows; ++row) {
    ids.read(row * k, ids_r, ids_t);
    if (ids_r == ids_t) continue;
    x.read(row * length, r, t);
    if (u == nullptr) {
      take_row(count, ids_r, ids_t, r, t);
      continue;
    }
    u->read(row, u_r, u_t);
    if (u_r == u_t) take_sample(count, ids_r[0], ids_t[0], u_t[0], r, t);
  }
  return count;
}

// Elements on the other side of zero.
flip_count signs(both& x) {
  flip_count count;
  count.choices = x.size();
  constexpr std::int64_t window = 1 << 16;
  std::vector<double> r, t;
  for (std::int64_t at = 0; at < x.size(); at += window) {
    r.resize(static_cast<std::size_t>(std::min(window, x.size() - at)));
    t.resize(r.size());
    x.read(at, r, t);
    for (std::size_t i = 0; i < r.size(); ++i) {
      if ((r[i] > 0) != (t[i] > 0)) count.take(std::abs(t[i]), std::abs(t[i] - r[i]));
    }
  }
  return count;
}

}  // namespace

void comparer::note_flips(const std::vector<item>& items, const op_pair& pair, const local_result& reference,
                          const local_result& test, std::uint64_t order) {
  if (pair.fate != fate::matched || !reference.done || !test.done) return;
  const std::string_view kind = test_.index.kind_of(op_of(test_, pair.test));
  const bool by_sign = kind == "relu_gradient", sampled = kind == "sample";
  if (!by_sign && !sampled && kind != "argmax" && kind != "top_k") return;
  std::vector<const item*> reads;
  const item* written = nullptr;
  for (const item& x : items) {
    if (!x.counted || x.any().role == role::scalar) continue;
    if (!x.any().written)
      reads.push_back(&x);
    else if (written == nullptr)
      written = &x;
  }
  if (written == nullptr || written->verdict != verdict::within) return;
  const std::size_t needed = by_sign || sampled ? 2 : 1;
  if (reads.size() < needed) return;
  const auto open = [&](const item& x) {
    return both{value_reader(reference_.index, *x.reference_merged, reference_.placements),
                value_reader(test_.index, *x.test_merged, test_.placements)};
  };
  flip_count count;
  both x = open(*reads[by_sign ? 1 : 0]);
  if (!x.readable()) return;
  if (by_sign) {
    count = signs(x);
  } else {
    both ids = open(*written);
    if (!ids.readable() || ids.size() == 0) return;
    const std::vector<std::int64_t>& shape = written->test_merged->shape;
    const std::int64_t rows = kind == "top_k" && !shape.empty() ? ids.size() / shape.back() : ids.size();
    if (rows <= 0 || x.size() % rows != 0) return;
    if (sampled) {
      both u = open(*reads[1]);
      if (!u.readable() || u.size() != rows) return;
      count = choices(ids, x, &u, rows);
    } else {
      count = choices(ids, x, nullptr, rows);
    }
  }
  if (count.flips == 0) return;
  finding f = stated("ND806", test_.index.place_of(*written->test), order);
  f.evidence = {{"flips", static_cast<double>(count.flips)},
                {"choices", static_cast<double>(count.choices)},
                {"margin", count.margin},
                {"input_error", count.error}};
  result_.findings.push_back(std::move(f));
}

}  // namespace numdiff::analysis
