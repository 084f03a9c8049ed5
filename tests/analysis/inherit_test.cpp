// What distances alone decide, at level sketch: honest ops are not accused, whatever the order of their sums.
#include "analysis/inherit.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>

#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

using columns =
    std::vector<std::vector<float>>;  // the addends of each result, in the order that they are added

double norm(const std::vector<double>& x) {
  double s = 0;
  for (const double v : x) s += v * v;
  return std::sqrt(s);
}

// How far FP32 sums in this order are from exact ones, over what they may be.
double distance_over_limit(const columns& data) {
  std::vector<double> exact, apart, all;
  for (const std::vector<float>& addends : data) {
    double sum = 0;
    float running = 0;
    for (const float v : addends) {
      sum += static_cast<double>(v);
      running += v;
      all.push_back(v);
    }
    exact.push_back(sum);
    apart.push_back(static_cast<double>(running) - sum);
  }
  const double count = static_cast<double>(data.size());
  analysis::read_distance x;
  x.norm = norm(all);
  x.count = static_cast<double>(all.size());
  analysis::inner_sums how;
  how.test_unit = 0x1p-24;
  how.length = static_cast<double>(data[0].size());
  const analysis::inner_limits limits = limits_of_rounding("sum", {x}, how, norm(exact), count);
  CHECK(limits.usual <= limits.most);
  return norm(apart) / norm(exact) / limits.most;
}

columns drawn(std::size_t results, std::size_t addends, std::uint64_t seed,
              const std::function<float(std::mt19937_64&, std::size_t)>& draw) {
  std::mt19937_64 random(seed);
  columns data(results, std::vector<float>(addends));
  for (std::vector<float>& one : data)
    for (std::size_t i = 0; i < addends; ++i) one[i] = draw(random, i);
  return data;
}

}  // namespace

TEST_CASE("no order of an FP32 sum exceeds what sums may be off by") {
  const auto normal = [](std::mt19937_64& random, std::size_t) {
    return std::normal_distribution<float>()(random);
  };
  for (const std::size_t results : {std::size_t{1}, std::size_t{16}, std::size_t{1024}}) {
    for (const std::size_t n :
         {std::size_t{2}, std::size_t{5}, std::size_t{16}, std::size_t{100}, std::size_t{1500}}) {
      CAPTURE(results);
      CAPTURE(n);
      const auto ramp = [n](std::mt19937_64& random, std::size_t i) {
        const float at = static_cast<float>(i) / static_cast<float>(n - 1);
        return (2 * at - 1) * (1 + 0.1F * std::normal_distribution<float>()(random));
      };
      const auto outlier = [&](std::mt19937_64& random, std::size_t i) {
        return normal(random, i) * (i == 0 ? 1000.0F : 1.0F);
      };
      columns halves = drawn(results, n, 3, normal);  // the second half takes the first away again, nearly
      for (std::vector<float>& one : halves)
        for (std::size_t i = n / 2; i < n; ++i) one[i] = -one[i - n / 2] * 1.001F;
      columns sorted = drawn(results, n, 4, normal);
      for (std::vector<float>& one : sorted) std::sort(one.begin(), one.end());
      CHECK(distance_over_limit(drawn(results, n, 1, normal)) < 1);
      CHECK(distance_over_limit(drawn(results, n, 2, ramp)) < 1);
      CHECK(distance_over_limit(drawn(results, n, 5, outlier)) < 1);
      CHECK(distance_over_limit(halves) < 1);
      CHECK(distance_over_limit(sorted) < 1);
    }
  }
}

TEST_CASE("limits are not far above honest sums: four times the worst gain of rounded inputs") {
  const double rho = 0.4247, u = 0x1p-24, count = 4096;
  for (const double n : {2.0, 8.0, 30.0, 50.0, 1000.0}) {
    analysis::inner_sums how;
    how.test_unit = u;
    how.length = n;
    const double size = std::sqrt(count * n);
    analysis::read_distance x;
    x.relative_l2 = rho * u;
    x.norm = size;
    x.count = count * n;
    const double sums = limits_of_rounding("sum", {x}, how, size, count).most,
                 gain = analysis::inherited_bound("sum", {x}, size, count);
    // Longer ones may be sorted, which adds up n errors and not the root of n.
    CHECK((std::hypot(gain, sums) < 4 * std::sqrt(n) * rho * u) == (n < 60));
    x.norm = std::sqrt(64 * n);
    x.count = 64 * n;
    const double product = std::sqrt(count * n),
                 most = limits_of_rounding("matmul", {x, x}, how, product, count).most,
                 both = analysis::inherited_bound("matmul", {x, x}, product, count);
    CHECK(std::hypot(both, most) < 4 * 2 * std::sqrt(n) * rho * u);
  }
}

TEST_CASE(
    "the angle of a late position may be off by its rounding, and a position that nobody tells by anything") {
  constexpr std::size_t tokens = 40, width = 32, half = width / 2;
  const auto build = [](bool exact, bool told, double apart) {
    run_builder r(1, level::sketch);
    const std::vector<double> x = rounded(numbers(tokens * width, 5), dtype::f32);
    std::vector<double> positions(tokens), y(x.size());
    for (std::size_t t = 0; t < tokens; ++t) {
      positions[t] = static_cast<double>(60000 + t);
      for (std::size_t i = 0; i < half; ++i) {
        const double power = -2 * static_cast<double>(i) / width, frequency = std::pow(10000.0, power);
        const double angle =
            (exact ? positions[t] * frequency
                   : static_cast<double>(static_cast<float>(positions[t]) * static_cast<float>(frequency))) +
            apart;
        const std::size_t at = t * width + i;
        y[at] = x[at] * std::cos(angle) - x[at + half] * std::sin(angle);
        y[at + half] = x[at] * std::sin(angle) + x[at + half] * std::cos(angle);
      }
    }
    model::op_row& op = r->op(0, "s", "rope", "rope");
    if (exact) op.accumulate_dtype = static_cast<std::uint16_t>(dtype::f64);
    r->input("x", whole(x, dtype::f32, {tokens, 1, width}));
    if (told) r->input("positions", whole(positions, dtype::i32, {tokens}));
    r->scalar("base", 10000);
    r->output("y", whole(rounded(y, dtype::f32), dtype::f32, {tokens, 1, width}));
    return r;
  };
  for (const bool told : {true, false}) {
    run_builder a = build(true, told, 0), b = build(false, told, 0), c = build(false, told, 0.1);
    CHECK(compare(a.run(), b.run(), {}).verdict == outcome::agree);
    CHECK((compare(a.run(), c.run(), {}).verdict == outcome::differ) == told);
  }
}

TEST_CASE("at level sketch a sum that cancels may be larger than the reference's by what its inputs bring") {
  constexpr std::size_t width = 512;
  const std::vector<double> noise = numbers(2 * width, 9);
  const auto build = [&](dtype type) {
    run_builder r(1, level::sketch);
    std::vector<double> x(2 * width), y(width);
    // Halfway between two numbers of E4M3, which takes them to either side.
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i < width ? 1 : -1) * (3.125 + 0.01 * noise[i]);
    x = rounded(x, type);
    for (std::size_t i = 0; i < width; ++i) y[i] = x[i] + x[i + width];
    r->op(0, "s", "made", "mystery");
    r->output("x", whole(x, type, {2, width}));
    r->op(0, "s", "sum", "sum").reduction_length = 2;
    r->input("x", whole(x, type, {2, width}));
    r->output("y", whole(rounded(y, dtype::f32), dtype::f32, {width}));
    return r;
  };
  run_builder a = build(dtype::f32), b = build(dtype::f8e4m3fn);
  const auto c = compare(a.run(), b.run(), {});
  for (const analysis::finding& f : c.findings) CHECK(f.where.op != "sum");
}

TEST_CASE("what amplifies an inherited error is not accused by its size, a common factor is") {
  const auto run = [](dtype type, const std::string& kind, double power, double factor) {
    run_builder r(1, level::sketch);
    std::vector<double> x = numbers(600, 11), y;
    x = rounded(x, type);
    r->op(0, "s", "make", "mystery");
    r->output("x", whole(x, type));
    for (const double v : x) y.push_back(factor * std::exp(power * v));
    r->op(0, "s", "f", kind);
    r->input("x", whole(x, type));
    r->output("y", whole(y, type));
    return r;
  };
  for (const char* kind : {"softmax_gradient", "fused_thing"}) {
    run_builder a = run(dtype::f32, kind, 60, 1), b = run(dtype::bf16, kind, 60, 1);
    CHECK(compare(a.run(), b.run(), {}).verdict == outcome::agree);
    run_builder c = run(dtype::f32, kind, 0.1, 1), d = run(dtype::bf16, kind, 0.1, 1.3);
    CHECK(compare(c.run(), d.run(), {}).verdict == outcome::differ);
  }
}

TEST_CASE("one number, or numbers that are alike, are not accused of a common factor") {
  const auto run = [](dtype type, std::vector<double> y) {
    run_builder r(1, level::sketch);
    const std::vector<double> x = rounded(numbers(600, 11), type);
    r->op(0, "s", "make", "mystery");
    r->output("x", whole(x, type));
    r->op(0, "s", "f", "fused_thing");
    r->input("x", whole(x, type));
    r->output("y", whole(y, dtype::f32));
    return r;
  };
  for (const std::size_t n : {1U, 4U, 300U}) {
    run_builder a = run(dtype::f32, std::vector<double>(n, 9.0)),
                b = run(dtype::bf16, std::vector<double>(n, 9.5));
    const auto c = compare(a.run(), b.run(), {});
    CHECK(c.verdict == outcome::agree);
    CHECK(c.totals.undecided > 0);
  }
}
