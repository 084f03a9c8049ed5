// At level sketch, honest ops whose errors repeat, grow or are all that is left are not accused; a fault in
// the same ops on other data is.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "analysis/comparison.hpp"
#include "analysis/repeats.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::size_t rows = 600, width = 320;

using numbers_of = std::function<double(std::size_t row, std::size_t column)>;

std::vector<double> filled(const numbers_of& f) {
  std::vector<double> x(rows * width);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = f(i / width, i % width);
  return rounded(std::move(x), dtype::f32);
}

// Results of each row, the row's numbers added in order or exactly.
using of_row = std::vector<double> (*)(const double* x, bool exact);

double total(const double* x, std::size_t n, bool exact) {
  double wide = 0;
  float narrow = 0;
  for (std::size_t i = 0; i < n; ++i) {
    wide += x[i];
    narrow += static_cast<float>(x[i]);
  }
  return exact ? wide : static_cast<double>(narrow);
}

std::vector<double> normalised(const double* x, bool exact) {
  const double mean = total(x, width, exact) / width;
  std::vector<double> y(width);
  double squares = 0;
  for (std::size_t i = 0; i < width; ++i)
    y[i] = exact ? x[i] - mean : static_cast<double>(static_cast<float>(x[i]) - static_cast<float>(mean));
  for (const double v : y) squares += v * v;
  for (double& v : y) v /= std::sqrt(squares / width + 1e-12);
  return y;
}
std::vector<double> deviation(const double* x, bool exact) {
  const double mean = total(x, width, exact) / width;
  std::vector<double> squares(width);
  for (std::size_t i = 0; i < width; ++i) squares[i] = (x[i] - mean) * (x[i] - mean);
  return {total(squares.data(), width, exact) / width};
}
std::vector<double> mean(const double* x, bool exact) {
  return {total(x, width, exact) / width};
}
std::vector<double> prefix(const double* x, bool exact) {
  std::vector<double> y(width);
  for (std::size_t i = 0; i < width; ++i) y[i] = total(x, i + 1, exact);
  return y;
}
std::vector<double> loss(const double* x, bool exact) {
  double top = x[0], sum = 0;
  for (std::size_t i = 1; i < width; ++i) top = std::max(top, x[i]);
  for (std::size_t i = 0; i < width; ++i) sum += std::exp(x[i] - top);
  const double log =
      top + (exact ? std::log1p(sum - 1) : static_cast<double>(std::log(static_cast<float>(sum))));
  return {exact ? log - x[0] : static_cast<double>(static_cast<float>(log) - static_cast<float>(x[0]))};
}

// `off`: a relative error of the results, another for each.
run_builder run_of(const char* kind, of_row f, const std::vector<double>& x, bool exact, double off = 0) {
  run_builder b(1, level::sketch);
  model::op_row& op = b->op(0, "s", kind, kind);
  if (exact) op.accumulate_dtype = static_cast<std::uint16_t>(dtype::f64);
  b->input("x", whole(x, dtype::f32, {rows, width}));
  std::vector<double> y;
  for (std::size_t r = 0; r < rows; ++r)
    for (const double v : f(x.data() + r * width, exact)) y.push_back(v);
  const std::vector<double> noise = numbers(y.size(), 5);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] *= 1 + off * noise[i];
  const auto n = static_cast<std::int64_t>(y.size() / rows);
  b->output("y", whole(rounded(y, dtype::f32), dtype::f32,
                       n == 1 ? std::vector<std::int64_t>{rows} : std::vector<std::int64_t>{rows, n}));
  return b;
}

outcome verdict_of(const char* kind, of_row f, const numbers_of& data, double off = 0) {
  const std::vector<double> x = filled(data);
  run_builder a = run_of(kind, f, x, true), b = run_of(kind, f, x, false, off);
  return compare(a.run(), b.run()).verdict;
}

double noise(std::size_t row, std::size_t column) {
  static const std::vector<double> all = numbers(rows * width, 77);
  return all[row * width + column];
}

}  // namespace

TEST_CASE("sums of numbers that repeat, follow each other or decay") {
  const numbers_of data[] = {
      [](std::size_t, std::size_t) { return 0.1; },
      [](std::size_t r, std::size_t c) { return 0.1 * static_cast<double>(1 + (r + c) % 3); },
      [](std::size_t, std::size_t c) { return 2 * static_cast<double>(c) / (width - 1) - 1; },
      [](std::size_t r, std::size_t c) { return std::sin(0.02 * static_cast<double>(c + r)); },
      [](std::size_t, std::size_t c) { return c < width / 2 ? 1.3 : -1.3; },
      [](std::size_t r, std::size_t c) {
        return std::exp(-0.07 * static_cast<double>(c)) * (1 + noise(r, 0));
      }};
  for (const numbers_of& d : data) {
    CHECK(verdict_of("mean", mean, d) == outcome::agree);
    CHECK(verdict_of("prefix_sum", prefix, d) == outcome::agree);
    CHECK(verdict_of("variance", deviation, d) == outcome::agree);
  }
  CHECK(verdict_of("mean", mean, noise, 1e-3) == outcome::differ);
  CHECK(verdict_of("prefix_sum", prefix, noise, 1e-3) == outcome::differ);
  CHECK(verdict_of("variance", deviation, noise, 1e-3) == outcome::differ);
}

TEST_CASE("norms and variances of rows that hardly vary") {
  for (const double spread : {0.0, 1e-4, 1e-2}) {
    const numbers_of near = [spread](std::size_t r, std::size_t c) { return 5 + spread * noise(r, c); };
    CHECK(verdict_of("layer_norm", normalised, near) == outcome::agree);
    CHECK(verdict_of("variance", deviation, near) == outcome::agree);
  }
  CHECK(verdict_of("layer_norm", normalised, noise, 1e-3) == outcome::differ);
}

TEST_CASE("the loss of confident rows is what is left of 1") {
  const numbers_of sure = [](std::size_t r, std::size_t c) { return (c == 0 ? 30 : 0) + noise(r, c); };
  CHECK(verdict_of("cross_entropy", loss, sure) == outcome::agree);
  CHECK(verdict_of("cross_entropy", loss, noise, 1e-3) == outcome::differ);
}

TEST_CASE("a factor that comes with what is read accuses nobody") {
  const auto build = [](double scale, double fault) {
    run_builder b(1, level::sketch);
    std::vector<double> x = numbers(rows, 3), y(rows);
    for (double& v : x) v *= scale;
    for (std::size_t i = 0; i < rows; ++i) y[i] = fault * std::exp(x[i]) * x[i];
    b->op(0, "s", "made", "mystery");
    b->output("x", whole(rounded(x, dtype::f32)));
    b->op(0, "s", "f", "fused_thing");
    b->input("x", whole(rounded(x, dtype::f32)));
    b->output("y", whole(rounded(y, dtype::f32)));
    return b;
  };
  run_builder a = build(1e-6, 1), b = build(1.05e-6, 1), c = build(1e-6 * (1 + 1e-4), 1.05);
  for (run_builder* test : {&b, &c}) {
    const auto all = compare(a.run(), test->run()).findings;
    CHECK(std::any_of(all.begin(), all.end(), [](const analysis::finding& f) { return f.where.op == "f"; }) ==
          (test == &c));
  }
}

TEST_CASE("what the numbers of a tensor say about sums of them") {
  const auto merged = [](const std::vector<double>& x, dtype t) {
    run_builder b(1, level::sketch);
    b->op(0, "s", "o", "mystery");
    b->output("x", whole(rounded(x, t), t));
    analysis::symbols names;
    const analysis::run_index index(b.run(), names, {});
    analysis::placement_cache placements;
    const analysis::merged_capture m = merge(index, index.captures()[0], placements);
    return std::pair(analysis::repeats(index, m), analysis::over_deviation(m));
  };
  std::vector<double> few(rows), decays(rows), one(rows, 0.1);
  for (std::size_t i = 0; i < rows; ++i) {
    few[i] = 0.1 * static_cast<double>(1 + i % 3);
    decays[i] = std::exp(-0.1 * static_cast<double>(i));
  }
  CHECK_FALSE(merged(numbers(rows, 8), dtype::f32).first);
  CHECK(merged(numbers(rows, 8), dtype::bf16).first);
  CHECK(merged(few, dtype::f32).first);
  CHECK(merged(decays, dtype::f32).first);
  CHECK(merged(one, dtype::f32).first);
  CHECK(std::isinf(merged(one, dtype::f32).second));
  CHECK(merged(numbers(rows, 8), dtype::f32).second == doctest::Approx(1).epsilon(0.05));
}
