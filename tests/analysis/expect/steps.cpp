// Single steps that programs write out: honest ones in any format are accepted, and what only resembles a
// fault is not called one.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

constexpr dtype formats[] = {dtype::f32, dtype::bf16, dtype::f16};
constexpr std::int64_t rows = 24, columns = 32;

using step = float (*)(float, float);

// y = f(a, b) in float, rounded to the format once more.
execution binary(const std::string& kind, dtype t, const tensor& a, const tensor& b, step f) {
  execution e(kind, t, dtype::f32, t);
  e.read(a).read(b);
  const std::size_t n = a.values.size(), repeat = n / b.values.size();
  values y(n);
  for (std::size_t i = 0; i < n; ++i)
    y[i] = f(static_cast<float>(a.values[i]), static_cast<float>(b.values[i / repeat]));
  e.write(stored(t, a.shape, y));
  return e;
}

float float_sum(const tensor& x, std::size_t row) {
  float total = 0;
  for (std::int64_t i = 0; i < columns; ++i)
    total += static_cast<float>(x.values[row * columns + static_cast<std::size_t>(i)]);
  return total;
}

}  // namespace

TEST_CASE("differences and quotients by rows") {
  sampler random(1);
  for (const dtype t : formats) {
    for (const spread_of s :
         {spread_of::normal, spread_of::positive, spread_of::heavy, spread_of::outliers}) {
      const tensor a = stored(t, {rows, columns}, random.draw(rows * columns, s, columns));
      const tensor b = stored(t, {rows, 1}, random.draw(rows, spread_of::positive));
      accepts(binary("subtract", t, a, b, [](float x, float y) { return x - y; }));
      accepts(binary("divide", t, a, b, [](float x, float y) { return x / y; }));
      accepts(binary("divide", t, a, b, [](float x, float y) { return x * (1 / y); }));
    }
  }
}

TEST_CASE("functions of one element") {
  sampler random(2);
  for (const dtype t : formats) {
    const tensor x = stored(t, {rows, columns}, random.draw(rows * columns, spread_of::positive));
    const auto unary = [&](const std::string& kind, float (*f)(float)) {
      execution e(kind, t, dtype::f32, t);
      e.read(x);
      values y(x.values.size());
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = f(static_cast<float>(x.values[i]));
      e.write(stored(t, x.shape, y));
      return e;
    };
    accepts(unary("square", [](float v) { return v * v; }));
    accepts(unary("exponential", [](float v) { return std::exp(v); }));
    accepts(unary("reciprocal_square_root", [](float v) { return 1 / std::sqrt(v); }));
    accepts(unary("power", [](float v) { return std::pow(v, 1.5F); }).scalar("exponent", 1.5));
    CHECK(answer(unary("square", [](float v) { return v * v * 1.05F; })).v == analysis::verdict::beyond);
  }
}

TEST_CASE("a variance in two passes is accepted near a large mean, one of squares is not") {
  sampler random(3);
  for (const dtype t : formats) {
    for (const double mean : {0.0, 30.0}) {
      values raw = random.draw(rows * columns, spread_of::normal);
      for (double& v : raw) v += mean;
      const tensor x = stored(t, {rows, columns}, raw);
      values means(rows), variances(rows);
      for (std::size_t r = 0; r < rows; ++r) {
        const float center = float_sum(x, r) / columns;
        float squares = 0;
        for (std::size_t i = 0; i < columns; ++i) {
          const float d = static_cast<float>(x.values[r * columns + i]) - center;
          squares += d * d;
        }
        means[r] = center;
        variances[r] = squares / columns;
      }
      accepts(execution("mean", t, dtype::f32, t).read(x).write(stored(t, {rows, 1}, means)));
      accepts(execution("variance", t, dtype::f32, t).read(x).write(stored(t, {rows, 1}, variances)));
      // Wrong in another way is no cancellation.
      for (double& v : variances) v *= 3;
      const judgement j =
          answer(execution("variance", t, dtype::f32, t).read(x).write(stored(t, {rows, 1}, variances)));
      CHECK(j.v == analysis::verdict::beyond);
      CHECK(j.cause_hint.empty());
    }
  }
  values raw = random.draw(rows * columns, spread_of::normal);
  for (double& v : raw) v += 5000;
  const tensor x = stored(dtype::f32, {rows, columns}, raw);
  values variances(rows);
  for (std::size_t r = 0; r < rows; ++r) {
    float squares = 0;
    for (std::size_t i = 0; i < columns; ++i) {
      const float v = static_cast<float>(x.values[r * columns + i]);
      squares += v * v;
    }
    const float center = float_sum(x, r) / columns;
    variances[r] = squares / columns - center * center;
  }
  blames(execution("variance", dtype::f32, dtype::f32, dtype::f32)
             .read(x)
             .write(stored(dtype::f32, {rows, 1}, variances)),
         "cancellation");
}

TEST_CASE("integers of an accumulator may collapse in a cast, positions may not") {
  sampler random(4);
  values scattered(512), counted(512);
  for (double& v : scattered) v = static_cast<double>(random.between(-100000, 100000));
  std::iota(counted.begin(), counted.end(), 0.0);
  const auto cast_of = [](const values& x, dtype t) {
    execution e("cast", dtype::i32, dtype::f32, t);
    e.read(stored(dtype::i32, {512}, x));
    e.write(stored(t, {512}, x));
    return e;
  };
  accepts(cast_of(scattered, dtype::bf16));
  accepts(cast_of(counted, dtype::f16));
  blames(cast_of(counted, dtype::bf16), "unrepresentable-integer");
}

TEST_CASE("rows of any size under one scale are no fault unless a range of them stands apart") {
  sampler random(5);
  const auto quantised = [](const values& x) {
    execution e("cast", dtype::f32, dtype::f32, dtype::f8e4m3fn);
    const extents shape = {rows, columns};
    double top = 0;
    for (const double v : x) top = std::max(top, std::fabs(v));
    const double scale = static_cast<double>(static_cast<float>(top / 448));
    e.read(stored(dtype::f32, shape, x));
    e.write(stored(dtype::f8e4m3fn, shape, x, rounding::nearest_even, values(x.size(), scale)));
    return e;
  };
  for (int trial = 0; trial < 20; ++trial) {
    values x = random.draw(rows * columns, spread_of::normal);
    for (std::size_t r = 0; r < rows; ++r) {
      const double size = std::exp2(3 * random.normal());
      for (std::size_t i = 0; i < columns; ++i) x[r * columns + i] *= size;
    }
    CHECK(answer(quantised(x)).cause_hint != "scale-granularity");
  }
  values x = random.draw(rows * columns, spread_of::normal);
  for (std::size_t i = 6 * columns; i < 14 * columns; ++i) x[i] *= 1e-5;
  CHECK(answer(quantised(x)).cause_hint == "scale-granularity");
  // What vanishes of a range may weigh nothing in the range itself.
  for (const bool heavy : {true, false}) {
    x = random.draw(rows * columns, spread_of::normal);
    for (std::size_t i = 6 * columns; i < 14 * columns; ++i)
      x[i] = 6e-4 * (i % columns < 2 ? 4 : heavy ? 1e-3 * x[i] : 8e-3 * x[i]);
    const judgement j = answer(quantised(x));
    CHECK(j.flushed > static_cast<std::int64_t>(columns));
    CHECK(j.cause_hint != "scale-granularity");
  }
}

TEST_CASE("sums in a narrow accumulator are rounding until addends stop arriving") {
  sampler random(6);
  const auto summed = [&](std::int64_t n, spread_of s, dtype running, dtype declared) {
    const tensor x = stored(dtype::bf16, {n, 8}, random.draw(static_cast<std::size_t>(n) * 8, s));
    values y(8, 0.0);
    for (std::size_t i = 0; i < x.values.size(); ++i) y[i % 8] = add_rounded(running, y[i % 8], x.values[i]);
    execution e("sum", dtype::bf16, declared, dtype::bf16);
    e.row().order = static_cast<std::uint16_t>(reduction_order::sequential);
    e.read(x).write(stored(dtype::bf16, {8}, y));
    return e;
  };
  accepts(summed(64, spread_of::normal, dtype::bf16, dtype::bf16));
  accepts(summed(64, spread_of::positive, dtype::bf16, dtype::bf16));
  accepts(summed(4096, spread_of::normal, dtype::bf16, dtype::bf16));
  accepts(summed(4096, spread_of::positive, dtype::f32, dtype::f32));
  blames(summed(4096, spread_of::positive, dtype::bf16, dtype::bf16), "low-precision-accumulate");
  blames(summed(4096, spread_of::positive, dtype::bf16, dtype::f32), "low-precision-accumulate");
}

TEST_CASE("an addition that overflows without a mask adds no masks") {
  const tensor x = stored(dtype::f16, {4}, {60000, -60000, 1, 2}),
               y = stored(dtype::f16, {4}, {60000, -60000, 1, 2});
  const tensor z = stored(dtype::f16, {4}, {120000, -120000, 2, 4});
  blames(execution("add", dtype::f16, dtype::f32, dtype::f16).read(x).read(y).write(z), "op-overflow");
}

TEST_CASE("a state that mostly moves is not lost") {
  const auto written = [](double share) {
    constexpr std::int64_t n = 100;
    values steps(n);
    for (std::size_t i = 0; i < n; ++i) steps[i] = static_cast<double>(i) < share * n ? 1e-4 : 0x1p-6;
    values next(n);
    for (std::size_t i = 0; i < n; ++i) next[i] = 1 - steps[i];
    execution e("subtract", dtype::bf16, dtype::f32, dtype::bf16);
    e.read(stored(dtype::bf16, {n}, values(n, 1.0)), role::state).read(stored(dtype::f32, {n}, steps));
    e.write(stored(dtype::bf16, {n}, next), role::state);
    return answer(e).cause_hint;
  };
  CHECK(written(0.5).empty());
  CHECK(written(1) == "lost-update");
}

TEST_CASE("ties of a maximum are counted, none is impossible") {
  const tensor x = stored(dtype::f32, {2, 4}, {1, 3, 3, 2, 5, 4, 1, 1.0039}),
               top = stored(dtype::f32, {2}, {3, 5});
  accepts(execution("maximum_count", dtype::f32, dtype::f32, dtype::f32)
              .read(x)
              .read(top)
              .write(stored(dtype::f32, {2}, {2, 1})));
  const tensor fine = stored(dtype::f32, {1, 2}, {1.001, 0.5}), rounded = stored(dtype::bf16, {1}, {1.0});
  blames(execution("maximum_count", dtype::f32, dtype::f32, dtype::f32)
             .read(fine)
             .read(rounded)
             .write(stored(dtype::f32, {1}, {0})),
         "rounding-order");
}
