// Reductions over any dimensions: told by shapes, and by what was written where shapes leave the choice.
#include "analysis/expect/axes.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;
using analysis::expect::reductions;
using analysis::expect::usual_axes;

namespace {

values positive(std::size_t n) {
  values v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = 1 + 0.25 * std::sin(1.7 * static_cast<double>(i));
  return v;
}

// Adds up [a, b, c] over its middle, first or last dimension, rounding every partial sum to `adds`.
values added(const tensor& x, int dimension, dtype adds) {
  const auto a = static_cast<std::size_t>(x.shape[0]), b = static_cast<std::size_t>(x.shape[1]),
             c = static_cast<std::size_t>(x.shape[2]);
  values y(a * b * c / static_cast<std::size_t>(x.shape[static_cast<std::size_t>(dimension)]), 0);
  for (std::size_t i = 0; i < a; ++i)
    for (std::size_t j = 0; j < b; ++j)
      for (std::size_t k = 0; k < c; ++k) {
        double& sum = y[dimension == 0 ? j * c + k : dimension == 1 ? i * c + k : i * b + j];
        sum = decode(adds, encode(adds, sum + x.values[(i * b + j) * c + k]));
      }
  return y;
}

execution reduced(const char* kind, const tensor& x, extents shape, const values& y, dtype told, dtype out) {
  execution e(kind, x.type, told, out);
  e.row().reduction_length = static_cast<std::int64_t>(x.values.size() / y.size());
  e.read(x).write(stored(out, shape, y));
  return e;
}

}  // namespace

TEST_CASE("shapes tell which dimensions are reduced") {
  const auto choices = reductions({3, 5, 7}, {3, 7}, usual_axes::leading);
  REQUIRE(choices.size() == 1);
  CHECK(choices[0].kept == std::vector<std::size_t>{0,  1,  2,  3,  4,  5,  6,  35, 36, 37, 38,
                                                    39, 40, 41, 70, 71, 72, 73, 74, 75, 76});
  CHECK(choices[0].reduced == std::vector<std::size_t>{0, 7, 14, 21, 28});
  CHECK_FALSE(choices[0].contiguous());
  CHECK(reductions({3, 5, 7}, {3, 5, 1}, usual_axes::leading).front().contiguous());
  CHECK_FALSE(reductions({3, 5, 7}, {5}, usual_axes::leading).front().contiguous());
  CHECK(reductions({3, 5, 7}, {}, usual_axes::leading).front().reduced.size() == 105);
  CHECK(reductions({3, 5, 7}, {15}, usual_axes::leading).front().kept.size() == 15);
  CHECK(reductions({3, 5, 7}, {2}, usual_axes::leading).empty());
  // Of two that fit, the usual one comes first.
  CHECK(reductions({4, 4}, {4}, usual_axes::leading).size() == 2);
  CHECK(reductions({4, 4}, {4}, usual_axes::leading).front().kept[1] == 1);
  CHECK(reductions({4, 4}, {4}, usual_axes::trailing).front().kept[1] == 4);
}

TEST_CASE("sums over the first, a middle and the last dimension") {
  const tensor x = stored(dtype::bf16, {6, 300, 5}, positive(9000));
  const tensor square = stored(dtype::bf16, {300, 300, 1}, positive(90000));
  for (const bool narrow : {false, true}) {
    const dtype adds = narrow ? dtype::bf16 : dtype::f32;
    const auto answers = [&](const execution& e) {
      narrow ? blames(e, "low-precision-accumulate") : accepts(e);
    };
    const tensor first = stored(dtype::bf16, {300, 2, 15}, x.values),
                 last = stored(dtype::bf16, {2, 15, 300}, x.values);
    answers(reduced("sum", x, {6, 5}, added(x, 1, adds), dtype::f32, dtype::bf16));
    answers(reduced("sum", first, {2, 15}, added(first, 0, adds), dtype::f32, dtype::bf16));
    answers(reduced("sum", last, {2, 15, 1}, added(last, 2, adds), dtype::f32, dtype::bf16));
    answers(reduced("sum", square, {300}, added(square, 0, adds), dtype::f32, dtype::bf16));
    answers(reduced("sum", square, {300}, added(square, 1, adds), dtype::f32, dtype::bf16));
  }
}

TEST_CASE("means over other than the last dimension, and weights for each element") {
  const tensor x = stored(dtype::f32, {4, 50, 3}, positive(600));
  values y = added(x, 1, dtype::f32);
  for (double& v : y) v /= 50;
  accepts(reduced("mean", x, {4, 3}, y, dtype::f32, dtype::f32));
  for (double& v : y) v *= 50.0 / 49;
  blames(reduced("mean", x, {4, 3}, y, dtype::f32, dtype::f32), "wrong-divisor");

  // Rows of 10, 20, 30 and 40 tokens: the mean of all, and the mean of the rows' means.
  const tensor tokens = stored(dtype::f32, {4, 40}, positive(160));
  values counts(160), means(4, 0);
  double all = 0, total = 0, of_rows = 0;
  for (std::size_t r = 0; r < 4; ++r) {
    for (std::size_t i = 0; i < 10 * (r + 1); ++i) {
      const double v = tokens.values[r * 40 + i] * static_cast<double>(r + 1);
      counts[r * 40 + i] = static_cast<double>(r + 1);
      means[r] += v;
      all += v;
      total += static_cast<double>(r + 1);
    }
    of_rows += means[r] / (10 * static_cast<double>((r + 1) * (r + 1))) / 4;
  }
  for (const bool weighs : {true, false}) {
    execution e("mean", dtype::f32, dtype::f32, dtype::f32);
    e.read(tokens).read(stored(dtype::f32, {4, 40}, counts));
    e.write(stored(dtype::f32, {}, {weighs ? all / total : of_rows}));
    weighs ? accepts(e) : blames(e, "wrong-weighting");
  }
}

TEST_CASE("a declared accumulator that no longer moves") {
  const tensor x = stored(dtype::f16, {1, 3, 6000}, positive(18000));
  values y = added(x, 2, dtype::f16);
  blames(reduced("sum", x, {3}, y, dtype::f16, dtype::f16), "low-precision-accumulate");
  for (double& v : y) v /= 6000;
  blames(reduced("mean", x, {3}, y, dtype::f16, dtype::f16), "low-precision-accumulate");
  const tensor few = stored(dtype::f16, {1, 3, 60}, positive(180));
  accepts(reduced("sum", few, {3}, added(few, 2, dtype::f16), dtype::f16, dtype::f16));
}

TEST_CASE("a product whose declared accumulator no longer moves") {
  for (const std::size_t k : {std::size_t{40}, std::size_t{3000}}) {
    const tensor a = stored(dtype::bf16, {6, static_cast<std::int64_t>(k)}, positive(6 * k)),
                 b = stored(dtype::bf16, {static_cast<std::int64_t>(k), 4}, positive(4 * k));
    execution e("matmul", dtype::bf16, dtype::bf16, dtype::bf16);
    e.row().k = static_cast<std::int64_t>(k);
    e.read(a).read(b);
    e.write(stored(dtype::bf16, {6, 4}, product({dtype::bf16}, a, b, 6, 4, k)));
    k > 1000 ? blames(e, "low-precision-accumulate") : accepts(e);
  }
}

TEST_CASE("statistics of channels, and a division in place of its rounded inverse") {
  const tensor x = stored(dtype::f32, {3, 4, 50}, positive(600));
  values means(4, 0), tops(4, 0);
  for (std::size_t i = 0; i < 600; ++i) {
    means[i / 50 % 4] += x.values[i] / 150;
    tops[i / 50 % 4] = std::max(tops[i / 50 % 4], x.values[i]);
  }
  accepts(reduced("mean", x, {4}, means, dtype::f32, dtype::f32));
  accepts(reduced("maximum", x, {4}, tops, dtype::f32, dtype::f32));
  accepts(reduced(
      "sum", x, {1, 4, 1},
      [&] {
        values sums = means;
        for (double& v : sums) v *= 150;
        return sums;
      }(),
      dtype::f32, dtype::f32));
  execution e("scale", dtype::f32, dtype::f32, dtype::f32);
  e.read(x).scalar("factor", static_cast<double>(1.0F / 6));
  values sixths = x.values;
  for (double& v : sixths) v /= 6;
  e.write(stored(dtype::f32, {3, 4, 50}, sixths));
  accepts(e);
}

TEST_CASE("the largest magnitude of each row") {
  tensor x = stored(dtype::f32, {3, 40}, positive(120));
  x.values[17] = -9;
  const float replaced = -9;
  std::memcpy(x.codes.data() + 17 * sizeof replaced, &replaced, sizeof replaced);
  values tops(3, 0);
  for (std::size_t i = 0; i < 120; ++i) tops[i / 40] = std::max(tops[i / 40], std::fabs(x.values[i]));
  CHECK(tops[0] == 9);
  accepts(reduced("amax", x, {3, 1}, tops, dtype::f32, dtype::f32));
  tops[1] *= 0.5;
  CHECK(answer(reduced("amax", x, {3, 1}, tops, dtype::f32, dtype::f32)).v == analysis::verdict::beyond);
}
