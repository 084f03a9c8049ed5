// Sums whose errors repeat, or of which one addend swallows the others: honest in any order, and still no
// cover for few bits or for a result that is off.
#include <string>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

// Rows that make the rounding errors of a sum repeat or hide.
values row_of(const std::string& what, std::size_t n) {
  values x(n);
  for (std::size_t i = 0; i < n; ++i) {
    const auto at = static_cast<double>(i);
    if (what == "few values") x[i] = 0.3 * static_cast<double>(i * 7 / 5 % 4) - 0.4;
    if (what == "one value") x[i] = 0.1;
    if (what == "outlier last") x[i] = i + 1 == n ? 1e4 : std::sin(at);
    if (what == "outlier first") x[i] = i == 0 ? 1e4 : std::sin(at);
    if (what == "mostly zero") x[i] = i % 45 == 0 ? 2 + std::sin(at) : 0;
    if (what == "rising") x[i] = std::exp(20 * at / static_cast<double>(n) - 20);
    if (what == "ramp") x[i] = 2 * at / static_cast<double>(n) - 1;
  }
  return x;
}

constexpr const char* all_rows[] = {"few values",  "one value", "outlier last", "outlier first",
                                    "mostly zero", "rising",    "ramp"};
constexpr std::size_t all_orders = 5;

// In order, from the end, in 16 and 96 lanes, in pairs; rounded to `t` after each addition.
template <class F>
double added(std::size_t order, std::size_t n, dtype t, F&& addend) {
  const auto round = [t](double x) { return decode(t, encode(t, x)); };
  if (order == 4) {
    values level(n);
    for (std::size_t i = 0; i < n; ++i) level[i] = addend(i);
    while (level.size() > 1) {
      values next;
      for (std::size_t i = 0; i < level.size(); i += 2)
        next.push_back(i + 1 < level.size() ? round(level[i] + level[i + 1]) : level[i]);
      level = next;
    }
    return level[0];
  }
  const std::size_t lanes = order == 2 ? 16 : order == 3 ? 96 : 1;
  values sums(lanes, 0);
  for (std::size_t k = 0; k < n; ++k) {
    const std::size_t i = order == 1 ? n - 1 - k : k;
    sums[k % lanes] = round(sums[k % lanes] + addend(i));
  }
  double total = sums[0];
  for (std::size_t l = 1; l < lanes; ++l) total = round(total + sums[l]);
  return total;
}

struct case_of {
  std::string kind, row;
  std::size_t order = 0;
  dtype accumulates = dtype::f32;
  double off = 0;  // relative error of the results
};

// Four rows of 4000 numbers, in f32.
execution run(const case_of& how) {
  constexpr std::size_t rows = 4, n = 4000;
  const dtype f32 = dtype::f32;
  const auto round = [](double x) { return static_cast<double>(static_cast<float>(x)); };
  values x;
  for (std::size_t r = 0; r < rows; ++r) {
    for (const double v : row_of(how.row, n)) x.push_back(v * (1 + 0.2 * static_cast<double>(r)));
  }
  const tensor in = stored(f32, {rows, n}, x);
  execution e(how.kind, f32, f32, f32);
  e.row().reduction_length = n;
  values y(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    const auto at = [&](std::size_t i) { return in.values[r * n + i]; };
    const auto sum = [&](auto&& addend) { return added(how.order, n, how.accumulates, addend); };
    if (how.kind == "sum") y[r] = sum(at);
    if (how.kind == "matmul") y[r] = sum([&](std::size_t i) { return round(at(i) * at(i)); });
    if (how.kind == "mean") y[r] = round(sum(at) / n);
    if (how.kind == "variance") {
      const double mean = round(sum(at) / n);
      y[r] = round(sum([&](std::size_t i) {
                     const double d = round(at(i) - mean);
                     return round(d * d);
                   }) /
                   n);
    }
    y[r] *= 1 + how.off;
  }
  if (how.kind == "sum") {
    values turned(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) turned[i % n * rows + i / n] = in.values[i];
    return std::move(e.read(stored(f32, {n, rows}, turned)).write(stored(f32, {rows}, y)));
  }
  if (how.kind == "matmul") {
    // Every row by itself: a batch of 1 x n times n x 1.
    const tensor a = stored(f32, {rows, 1, n}, x), b = stored(f32, {rows, n, 1}, x);
    return std::move(e.read(a).read(b).write(stored(f32, {rows, 1, 1}, y)));
  }
  return std::move(e.read(in).write(stored(f32, {rows}, y)));
}

constexpr const char* all_kinds[] = {"sum", "mean", "variance", "matmul"};

}  // namespace

TEST_CASE("sums whose errors repeat or hide are honest in any order") {
  for (const char* kind : all_kinds) {
    for (const char* row : all_rows) {
      for (std::size_t order = 0; order < all_orders; ++order) {
        INFO(std::string(kind) << ", " << std::string(row) << ", order " << order);
        accepts(run({kind, row, order}));
      }
    }
  }
}

TEST_CASE("few bits are found in them all the same") {
  for (const char* kind : all_kinds) {
    for (const char* row : {"few values", "one value", "mostly zero", "rising"}) {
      if (std::string(kind) == "variance" && std::string(row) == "one value") continue;  // the noise of none
      INFO(std::string(kind) << ", " << std::string(row));
      const judgement j = answer(run({kind, row, 0, dtype::bf16}));
      CHECK(j.v == analysis::verdict::beyond);
      CHECK(j.cause_hint == "low-precision-accumulate");
    }
  }
}

TEST_CASE("results that are off are found in them all the same") {
  for (const char* kind : all_kinds) {
    for (const char* row : {"few values", "one value", "mostly zero", "rising", "outlier first"}) {
      if (std::string(kind) == "variance" && std::string(row) == "one value") continue;
      INFO(std::string(kind) << ", " << std::string(row));
      CHECK(answer(run({kind, row, 2, dtype::f32, 2e-3})).v == analysis::verdict::beyond);
    }
  }
}
