// Kinds that choose, and statistics over what a view does not hide.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "analysis/expect/emulate.hpp"

using namespace numdiff;
using namespace numdiff::test;
using analysis::verdict;

namespace {

constexpr std::size_t rows = 9, length = 20;
const dtype formats[] = {dtype::f32, dtype::bf16, dtype::f16};

tensor candidates(dtype t, unsigned seed) {
  sampler random(seed);
  return stored(t, {rows, length}, random.draw(rows * length, spread_of::normal));
}

std::size_t best_of(const tensor& x, std::size_t row, bool last) {
  std::size_t best = row * length;
  for (std::size_t i = row * length; i < (row + 1) * length; ++i)
    if (x.values[i] > x.values[best] || (last && x.values[i] == x.values[best])) best = i;
  return best - row * length;
}

verdict of(const execution& e, const std::string& cause = "") {
  const replayed r = e.replay();
  REQUIRE_MESSAGE(r.done, r.why_not);
  CHECK(r.outputs.front().cause_hint == cause);
  return r.outputs.front().v;
}

}  // namespace

TEST_CASE("argmax: any of the largest is right, anything else is not") {
  for (const dtype t : formats) {
    tensor x = candidates(t, 1);
    std::fill_n(x.values.begin() + 3 * length, 2, 7.0);  // a tie
    for (const bool last : {false, true}) {
      values ids(rows);
      for (std::size_t r = 0; r < rows; ++r) ids[r] = static_cast<double>(best_of(x, r, last));
      execution e("argmax", t, t, dtype::i32);
      e.read(x).write(stored(dtype::i32, {rows}, ids));
      CHECK(of(e) == verdict::within);
      e.output().values[5] = std::fmod(ids[5] + 1, length);
      CHECK(of(e) == verdict::beyond);
      e.output().values[5] = length;
      CHECK(of(e) == verdict::beyond);
    }
  }
}

TEST_CASE("top-k: in any order, each once, with its values") {
  constexpr std::size_t k = 4;
  for (const dtype t : formats) {
    const tensor x = candidates(t, 2);
    values ids, top;
    for (std::size_t r = 0; r < rows; ++r) {
      std::vector<std::size_t> order(length);
      std::iota(order.begin(), order.end(), std::size_t{0});
      std::ranges::sort(order, {}, [&](std::size_t i) { return -x.values[r * length + i]; });
      for (const std::size_t i : {order[2], order[0], order[3], order[1]}) {
        ids.push_back(static_cast<double>(i));
        top.push_back(x.values[r * length + i]);
      }
    }
    execution e("top_k", t, t, dtype::i64);
    e.read(x).write(stored(dtype::i64, {rows, k}, ids)).write(stored(t, {rows, k}, top));
    CHECK(of(e) == verdict::within);
    CHECK(e.replay().outputs[1].v == verdict::within);
    e.output(1).values[6] *= 2;
    CHECK(e.replay().outputs[1].v == verdict::beyond);
    e.output().values[4] = e.output().values[5];
    CHECK(of(e) == verdict::beyond);
  }
}

TEST_CASE("sample: the candidate that the random number falls on") {
  tensor p = candidates(dtype::f32, 3);
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t i = r * length; i < (r + 1) * length; ++i) sum += p.values[i] = std::exp(p.values[i]);
    for (std::size_t i = r * length; i < (r + 1) * length; ++i) p.values[i] /= sum;
  }
  p = stored(dtype::f32, {rows, length}, p.values);
  values u(rows), ids(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    u[r] = 0.05 + 0.1 * static_cast<double>(r);
    float below = 0;
    std::size_t i = 0;
    while (i + 1 < length &&
           (below += static_cast<float>(p.values[r * length + i])) <= static_cast<float>(u[r]))
      ++i;
    ids[r] = static_cast<double>(i);
  }
  execution e("sample", dtype::f32, dtype::f32, dtype::i32);
  e.read(p).read(stored(dtype::f32, {rows}, u)).write(stored(dtype::i32, {rows}, ids));
  CHECK(of(e) == verdict::within);
  e.output().values[2] = ids[2] > 1 ? ids[2] - 2 : ids[2] + 2;
  CHECK(of(e) == verdict::beyond);
}

TEST_CASE("relu and its gradient; at zero both slopes are right") {
  for (const dtype t : formats) {
    tensor x = candidates(t, 4);
    x.values[17] = 0;
    const tensor dy = candidates(t, 5);
    values y = x.values, dx = dy.values;
    for (std::size_t i = 0; i < y.size(); ++i) {
      y[i] = std::max(0.0, y[i]);
      dx[i] = x.values[i] > 0 ? dx[i] : 0;
    }
    execution forward("relu", t, t, t);
    forward.read(x).write(stored(t, {rows, length}, y));
    CHECK(of(forward) == verdict::within);
    forward.output().values[3] = x.values[3] + 1;
    CHECK(of(forward) == verdict::beyond);
    execution backward("relu_gradient", t, t, t);
    backward.read(dy).read(x).write(stored(t, {rows, length}, dx));
    CHECK(of(backward) == verdict::within);
    backward.output().values[17] = dy.values[17];
    CHECK(of(backward) == verdict::within);
    const std::size_t negative = static_cast<std::size_t>(
        std::ranges::find_if(x.values, [](double v) { return v < 0; }) - x.values.begin());
    backward.output().values[negative] = dy.values[negative];
    CHECK(of(backward) == verdict::beyond);
  }
}

TEST_CASE("statistics leave hidden elements out, and padding that takes part is named") {
  const std::vector<std::size_t> hidden = {17, 18, 19, 3 * length + 12, 3 * length + 19};
  const auto is_hidden = [&](std::size_t i) { return std::ranges::find(hidden, i) != hidden.end(); };
  for (const dtype t : formats) {
    tensor x = candidates(t, 6);
    for (double& v : x.values) v = -std::abs(v) - 1;  // a hidden zero would be the largest
    x = stored(t, {rows, length}, x.values);
    for (const bool mean : {true, false}) {
      const auto result = [&](double rubbish, bool whole_length) {
        values y(rows);
        for (std::size_t r = 0; r < rows; ++r) {
          double sum = 0, top = -HUGE_VAL;
          std::size_t n = 0;
          for (std::size_t i = r * length; i < (r + 1) * length; ++i) {
            if (is_hidden(i) && rubbish == 0) continue;
            const double v = is_hidden(i) ? rubbish : x.values[i];
            sum += v;
            top = std::max(top, v);
            ++n;
          }
          y[r] = mean ? sum / static_cast<double>(whole_length ? length : n) : top;
        }
        return stored(dtype::f32, {rows}, y);
      };
      execution e(mean ? "mean" : "maximum", t, dtype::f32, dtype::f32);
      e.read(x).hide(0, hidden).write(result(0, false));
      CHECK(of(e) == verdict::within);
      e.output() = result(40, false);
      CHECK(of(e, "uninitialised") == verdict::beyond);
      // An error that has nothing to do with padding is not blamed on it.
      e.output() = result(0, false);
      e.output().values[1] *= 1.01;
      CHECK(of(e) == verdict::beyond);
      if (mean) {
        e.output() = result(0, true);
        CHECK(of(e, "wrong-divisor") == verdict::beyond);
      }
    }
  }
}

TEST_CASE("products: rows of padding reach their own results only") {
  constexpr std::size_t m = 6, n = 5, k = 16;
  sampler random(8);
  const tensor b = stored(dtype::f16, {k, n}, random.draw(k * n, spread_of::normal));
  tensor a = stored(dtype::f16, {m, k}, random.draw(m * k, spread_of::normal));
  const tensor rubbish = a;
  std::vector<std::size_t> hidden(k);
  std::iota(hidden.begin(), hidden.end(), 2 * k);
  execution e("matmul", dtype::f16, dtype::f32, dtype::f16);
  e.row().m = m;
  e.row().n = n;
  e.row().k = k;
  e.read(a).read(b).hide(0, hidden);
  e.write(stored(dtype::f16, {m, n}, product({}, rubbish, b, m, n, k)));
  CHECK(of(e, "uninitialised") == verdict::beyond);
}

TEST_CASE("where visible zeros cannot be told from hidden elements nothing is judged") {
  tensor x = candidates(dtype::f32, 7);
  x.values[4] = 0;
  x = stored(dtype::f32, {rows, length}, x.values);
  execution e("mean", dtype::f32, dtype::f32, dtype::f32);
  e.read(x).hide(0, {30, 31}).write(stored(dtype::f32, {rows}, values(rows, 0.0)));
  CHECK_FALSE(e.replay().done);
}

TEST_CASE("a chosen candidate that is hidden") {
  const tensor x = candidates(dtype::bf16, 9);
  values ids(rows);
  for (std::size_t r = 0; r < rows; ++r) ids[r] = static_cast<double>(best_of(x, r, false));
  execution e("argmax", dtype::bf16, dtype::bf16, dtype::i32);
  e.read(x).write(stored(dtype::i32, {rows}, ids));
  e.hide(0, {4 * length + static_cast<std::size_t>(ids[4])});
  CHECK(of(e, "uninitialised") == verdict::beyond);
}
