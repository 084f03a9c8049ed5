// Masks that hide by different numbers, and rows that see nothing.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::size_t rows = 20, width = 30;
const std::vector<std::int64_t> shape = {2, 10, 30};
const double inf = HUGE_VAL;

std::string first(const analysis::comparison& c) {
  return c.first_divergence ? c.first_divergence->where.op + " " + c.first_divergence->symptom + " " +
                                  c.first_divergence->cause
                            : "none";
}

// `none`: row 7 sees nothing.
bool visible(std::size_t i, bool none) {
  return i % width <= i / width % 10 + 3 && !(none && i / width == 7);
}

enum class hiding { selects, adds };

// Scores, masked by `fill`, and their softmax, which writes `empty` where it sees nothing.
run_builder masked(dtype type, double fill, hiding how, bool none = false, double empty = 0,
                   level l = level::tensors) {
  run_builder built(1, l);
  const auto op = [&](const char* name, const char* kind) {
    model::op_row& row = built->op(0, "attn", name, kind);
    row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
  };
  const auto rounded = [&](std::vector<double> v) {
    for (double& x : v) x = decode(type, encode(type, x));
    return v;
  };
  const std::vector<double> x = rounded(numbers(rows * width, 31));
  std::vector<double> y = x, shown(x.size()), added(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    shown[i] = visible(i, none) ? 1 : 0;
    added[i] = visible(i, none) ? 0 : fill;
    if (how == hiding::selects)
      y[i] = visible(i, none) ? x[i] : fill;
    else
      y[i] = x[i] + added[i];
  }
  y = rounded(y);
  op("hide", how == hiding::selects ? "mask" : "add");
  built->input("x", whole(x, type, shape));
  if (how == hiding::selects) {
    built->input("visible", whole(shown, dtype::boolean, shape));
    built->scalar("fill", fill);
  } else {
    built->input("mask", whole(added, type, shape));
  }
  built->output("y", whole(y, type, shape));
  std::vector<double> p(x.size());
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0, top = -inf;
    for (std::size_t i = r * width; i < r * width + width; ++i) top = std::max(top, y[i]);
    for (std::size_t i = r * width; i < r * width + width; ++i) sum += std::exp(y[i] - top);
    for (std::size_t i = r * width; i < r * width + width; ++i)
      p[i] = top == -inf ? empty : std::exp(y[i] - top) / sum;
  }
  op("p", "softmax");
  built->input("y", whole(y, type, shape));
  built->output("p", whole(p, type, shape));
  return built;
}

}  // namespace

TEST_CASE("what a mask fills hidden places with is no difference, as long as it hides") {
  const double fills[] = {-inf, -1e4, -65504};
  for (const hiding how : {hiding::selects, hiding::adds}) {
    for (const level l : {level::tensors, level::sketch}) {
      for (const double fill : fills) {
        run_builder wide = masked(dtype::f32, -3.4028234663852886e38, how, false, 0, l),
                    narrow = masked(dtype::f16, fill, how, false, 0, l);
        INFO(fill << (how == hiding::adds ? " added" : " selected"));
        CHECK(first(compare(wide.run(), narrow.run())) == "none");
        CHECK(first(compare(narrow.run(), wide.run())) == "none");
        if (l == level::tensors) CHECK(compare(wide.run(), narrow.run()).verdict == outcome::agree);
      }
    }
  }
  run_builder hides = masked(dtype::f32, -1e9, hiding::selects),
              shows = masked(dtype::f16, -3, hiding::selects);
  CHECK(first(compare(hides.run(), shows.run())) == "hide mismatch setting-differs");
  // The same numbers, and other places.
  run_builder other = masked(dtype::f16, -1e4, hiding::adds, true),
              same = masked(dtype::f16, -1e4, hiding::adds);
  CHECK(first(compare(same.run(), other.run())) == "hide mismatch input-differs");
}

TEST_CASE("a row that sees nothing, finite in one run and NaN in the other") {
  run_builder finite = masked(dtype::f32, -65504, hiding::selects, true),
              endless = masked(dtype::f16, -inf, hiding::selects, true, std::nan(""));
  CHECK(first(compare(finite.run(), endless.run())) == "p nan fully-masked-row");
}

TEST_CASE("an op without replay that makes NaN of the rows that its mask empties") {
  const auto attention = [](double empty, double elsewhere) {
    run_builder built;
    std::vector<double> shown(rows * width, 1), y = numbers(rows * 8, 33);
    for (std::size_t i = 0; i < width; ++i) shown[3 * width + i] = shown[11 * width + i] = 0;
    for (std::size_t i = 0; i < 8; ++i) y[3 * 8 + i] = y[11 * 8 + i] = empty;
    y[5] += elsewhere;
    built->op(0, "attn", "fused", "flash");
    built->input("q", whole(numbers(rows * 8, 34), dtype::f32, {2, 10, 8}));
    built->input("mask", whole(shown, dtype::boolean, shape));
    built->output("o", whole(y, dtype::f32, {2, 10, 8}));
    return built;
  };
  run_builder zero = attention(0, 0), nan = attention(std::nan(""), 0),
              more = attention(std::nan(""), inf - inf);
  CHECK(first(compare(zero.run(), nan.run())) == "fused nan fully-masked-row");
  CHECK(first(compare(zero.run(), more.run())) == "fused nan open");
}

TEST_CASE("a mean of no weight is what the program wants it to be, and NaN has its reason") {
  const auto averages = [](double empty) {
    run_builder built;
    const std::vector<double> x = numbers(60, 35);
    std::vector<double> w(60, 1), y(3, 0);
    for (std::size_t i = 20; i < 40; ++i) w[i] = 0;
    for (std::size_t i = 0; i < 60; ++i) y[i / 20] += x[i] * w[i] / 20;
    y[1] = empty;
    built->op(0, "", "mean", "mean");
    built->input("x", whole(x, dtype::f32, {3, 20}));
    built->input("w", whole(w, dtype::f32, {3, 20}));
    built->output("y", whole(y, dtype::f32, {3}));
    return built;
  };
  run_builder zero = averages(0), nan = averages(std::nan(""));
  CHECK(first(compare(zero.run(), nan.run())) == "mean nan fully-masked-row");
}

TEST_CASE("an infinity that a weight of zero should have hidden, given in one run only") {
  const auto attention = [](double unused) {
    run_builder built;
    std::vector<double> p(12, 0), v = numbers(4 * 5, 36), y(15, 0);
    for (std::size_t i = 0; i < 12; ++i) p[i] = i % 4 < 3 ? 0.25 : 0;
    for (std::size_t i = 15; i < 20; ++i) v[i] = unused;
    for (std::size_t i = 0; i < 15; ++i)
      for (std::size_t k = 0; k < 4; ++k) y[i] += p[i / 5 * 4 + k] * v[k * 5 + i % 5];
    built->op(0, "attn", "pv", "matmul");
    built->input("p", whole(p, dtype::f32, {3, 4}));
    built->input("v", whole(v, dtype::f32, {4, 5}));
    built->output("y", whole(y, dtype::f32, {3, 5}));
    return built;
  };
  run_builder clean = attention(0), garbage = attention(inf);
  const auto c = compare(clean.run(), garbage.run());
  CHECK(c.verdict == outcome::differ);
  CHECK(first(c) == "pv nan masked-value-leak");
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->where.op == "pv");
}

TEST_CASE("runs of which one has NaN that it was given never agree") {
  const auto product = [](double given) {
    run_builder built;
    std::vector<double> x = numbers(12, 37), w = numbers(20, 38), y(15, 0);
    x[5] = given;
    for (std::size_t i = 0; i < 15; ++i)
      for (std::size_t k = 0; k < 4; ++k) y[i] += x[i / 5 * 4 + k] * w[k * 5 + i % 5];
    built->op(0, "mlp", "fc", "matmul");
    built->input("x", whole(x, dtype::f32, {3, 4}));
    built->weight("w", whole(w, dtype::f32, {4, 5}));
    built->output("y", whole(y, dtype::f32, {3, 5}));
    return built;
  };
  run_builder clean = product(0.5), given = product(std::nan(""));
  const auto c = compare(clean.run(), given.run());
  CHECK(first(c) == "fc mismatch input-differs");
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->where.tensor == "x");
}
