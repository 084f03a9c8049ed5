// Planted faults are beyond the expectation and named; what only resembles them is not.
#include <doctest/doctest.h>

#include <algorithm>

#include "analysis/expect/honest.hpp"
#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

double through(dtype t, double x, rounding mode = rounding::nearest_even) {
  return decode(t, encode(t, x, cast_rule{mode, overflow::usual}));
}

struct factors {
  tensor a, b;
  std::size_t m, n, k;
};

factors draw(sampler& random, dtype t, spread_of s, std::size_t m, std::size_t n, std::size_t k) {
  return {stored(t, {static_cast<std::int64_t>(m), static_cast<std::int64_t>(k)}, random.draw(m * k, s, k)),
          stored(t, {static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)}, random.draw(k * n, s, n)),
          m, n, k};
}

execution product_of(const factors& f, dtype accumulate, dtype out, const values& c) {
  execution e("matmul", f.a.type, accumulate, out);
  e.read(f.a).read(f.b, role::weight);
  e.write(stored(out, {static_cast<std::int64_t>(f.m), static_cast<std::int64_t>(f.n)}, c));
  return e;
}

}  // namespace

TEST_CASE("an accumulator of fewer bits than declared") {
  sampler random(1);
  for (const dtype narrow : {dtype::bf16, dtype::f16}) {
    for (int round = 0; round < 4; ++round) {
      const factors f = draw(random, narrow, spread_of::normal, 12, 12, 128);
      blames(product_of(f, dtype::f32, narrow, product({narrow}, f.a, f.b, 12, 12, 128)),
             "low-precision-accumulate");
      accepts(product_of(f, dtype::f32, narrow, product({dtype::f32}, f.a, f.b, 12, 12, 128)));
    }
  }
}

TEST_CASE("products cut at 13 bits where fp32 was declared") {
  sampler random(2);
  const factors f = draw(random, dtype::f8e4m3fn, spread_of::positive, 12, 12, 512);
  values c(144);
  for (std::size_t i = 0; i < 144; ++i) {
    c[i] = fused_dot(fused_dot_models::hopper_fp8, {dtype::f8e4m3fn, f.a.values.data() + i / 12 * 512, 1},
                     {dtype::f8e4m3fn, f.b.values.data() + i % 12, 12}, 512);
  }
  blames(product_of(f, dtype::f32, dtype::f32, c), "narrow-accumulator");
  blames(product_of(f, dtype::f32, dtype::bf16, c), "narrow-accumulator");
}

TEST_CASE("inputs of fewer bits than declared") {
  sampler random(3);
  const factors f = draw(random, dtype::f32, spread_of::normal, 10, 14, 96);
  for (const dtype low : {dtype::tf32, dtype::bf16}) {
    factors g = f;
    for (tensor* t : {&g.a, &g.b}) {
      for (double& v : t->values) v = through(low, v);
    }
    blames(product_of(f, dtype::f32, dtype::f32, product({dtype::f32}, g.a, g.b, 10, 14, 96)),
           "reduced-input-precision");
  }
}

TEST_CASE("scores stored before they are scaled") {
  sampler random(4);
  factors f = draw(random, dtype::f16, spread_of::normal, 8, 8, 64);
  for (double& v : f.a.values) v = through(dtype::f16, 120 * v);
  for (double& v : f.b.values) v = through(dtype::f16, 120 * v);
  values c = product({dtype::f32}, f.a, f.b, 8, 8, 64), direct = c;
  for (double& v : c) v = through(dtype::f16, through(dtype::f16, v) * 0.125);
  for (double& v : direct) v *= 0.125;
  REQUIRE(std::any_of(c.begin(), c.end(), [](double v) { return std::isinf(v); }));
  execution e("matmul", dtype::f16, dtype::f32, dtype::f16);
  e.read(f.a).read(f.b).scalar("alpha", 0.125).write(stored(dtype::f16, {8, 8}, c));
  blames(e, "score-overflow");
  e.output() = stored(dtype::f16, {8, 8}, direct);
  accepts(e);
}

TEST_CASE("a truncated sum") {
  sampler random(5);
  for (int round = 0; round < 6; ++round) {
    const values x = random.draw(512, all_spreads[round % 5]), y = random.draw(512, all_spreads[round % 5]);
    execution e("add", dtype::bf16, dtype::f32, dtype::bf16);
    const tensor a = stored(dtype::bf16, {8, 64}, x), b = stored(dtype::bf16, {8, 64}, y);
    values sum(512);
    for (std::size_t i = 0; i < 512; ++i) sum[i] = a.values[i] + b.values[i];
    e.read(a).read(b).write(stored(dtype::bf16, {8, 64}, sum, rounding::toward_zero));
    blames(e, "truncating-cast");
    e.row().output_rounding = static_cast<std::uint16_t>(rounding::toward_zero);
    accepts(e);  // declared, it is honest
  }
}

TEST_CASE("one wrong element among a million") {
  constexpr std::size_t n = 1 << 20;
  sampler random(6);
  execution e("add", dtype::bf16, dtype::f32, dtype::bf16);
  const tensor a = stored(dtype::bf16, {n}, random.draw(n, spread_of::normal)),
               b = stored(dtype::bf16, {n}, random.draw(n, spread_of::normal));
  values sum(n);
  for (std::size_t i = 0; i < n; ++i) sum[i] = a.values[i] + b.values[i];
  e.read(a).read(b).write(stored(dtype::bf16, {n}, sum));
  accepts(e);
  double& wrong = e.output().values[777777];
  wrong = through(dtype::bf16, wrong * (1 + 0x1p-6));
  const judgement j = answer(e);
  CHECK(j.v == analysis::verdict::beyond);
  CHECK(j.worst_index == 777777);
}

TEST_CASE("variances by difference, and statistics of few bits") {
  sampler random(7);
  for (const double level : {0.0, 3.0, 20.0}) {
    values x = random.draw(16 * 64, spread_of::normal), y(16 * 64);
    for (double& v : x) v += level;
    const tensor in = stored(dtype::f32, {16, 64}, x);
    const tensor gamma = stored(dtype::f32, {64}, random.draw(64, spread_of::positive)),
                 beta = stored(dtype::f32, {64}, random.draw(64, spread_of::normal));
    for (std::size_t r = 0; r < 16; ++r) {
      double sum = 0, squares = 0;
      for (std::size_t i = 0; i < 64; ++i) {
        const double v = in.values[r * 64 + i];
        sum = through(dtype::bf16, sum + v);
        squares = through(dtype::bf16, squares + v * v);
      }
      const double mean = through(dtype::bf16, sum / 64),
                   variance = through(dtype::bf16,
                                      through(dtype::bf16, squares / 64) - through(dtype::bf16, mean * mean));
      const double inverse = 1 / std::sqrt(std::max(variance, 0.0) + 1e-5);
      for (std::size_t i = 0; i < 64; ++i)
        y[r * 64 + i] = (in.values[r * 64 + i] - mean) * inverse * gamma.values[i] + beta.values[i];
    }
    execution e("layer_norm", dtype::f32, dtype::f32, dtype::bf16);
    e.read(in)
        .read(gamma, role::weight)
        .read(beta, role::weight)
        .scalar("eps", 1e-5)
        .write(stored(dtype::bf16, {16, 64}, y));
    blames(e, "cancellation");
    e.output() =
        stored(dtype::bf16, {16, 64}, layer_norm_of<float>(in.values, gamma.values, beta.values, 1e-5F));
    accepts(e);
  }
}

TEST_CASE("positions that the format does not hold") {
  sampler random(8);
  const std::int64_t width = 16;
  for (const std::int64_t first : {0, 4001}) {
    const tensor x = stored(dtype::bf16, {24, 2, width}, random.draw(24 * 32, spread_of::normal));
    values positions(24), y(x.values.size()), good(x.values.size());
    for (std::size_t t = 0; t < 24; ++t) positions[t] = static_cast<double>(first) + static_cast<double>(t);
    for (std::size_t row = 0; row < 48; ++row) {
      for (std::size_t i = 0; i < 8; ++i) {
        const double turn = std::pow(10000.0, -static_cast<double>(i) / 8), p = positions[row / 2];
        const std::size_t a = row * 16 + i, b = a + 8;
        const double bad = through(dtype::bf16, p) * turn;
        y[a] = x.values[a] * std::cos(bad) - x.values[b] * std::sin(bad);
        y[b] = x.values[b] * std::cos(bad) + x.values[a] * std::sin(bad);
        good[a] = x.values[a] * std::cos(p * turn) - x.values[b] * std::sin(p * turn);
        good[b] = x.values[b] * std::cos(p * turn) + x.values[a] * std::sin(p * turn);
      }
    }
    execution e("rope", dtype::bf16, dtype::f32, dtype::bf16);
    e.read(x)
        .read(stored(dtype::i32, {24}, positions))
        .scalar("base", 10000)
        .write(stored(dtype::bf16, {24, 2, width}, y));
    if (first == 0)
      accepts(e);  // every position is a bf16 number
    else
      blames(e, "unrepresentable-integer");
    e.output() = stored(dtype::bf16, {24, 2, width}, good);
    accepts(e);
  }
}

TEST_CASE("a weight without a master copy") {
  sampler random(9);
  execution e = honest("adamw", random, {dtype::f32, dtype::f32, dtype::f32}, spread_of::normal, 16, 32);
  accepts(e);
  const tensor good = e.output();
  for (double& v : e.output().values) v = through(dtype::bf16, v);
  blames(e, "lost-update");
  e.output() = good;
  e.output().values = e.input(0).values;
  blames(e, "lost-update");
  accepts(e, 1);
  accepts(e, 2);
}

TEST_CASE("a mask that hides a whole row") {
  sampler random(10);
  execution e = honest("mask", random, {dtype::bf16, dtype::f32, dtype::bf16}, spread_of::normal, 12, 12);
  accepts(e);
  for (std::size_t i = 0; i < 12; ++i) e.output().values[5 * 12 + i] = -HUGE_VAL;
  blames(e, "fully-masked-row");
  e.output().values[5 * 12] = e.input(0).values[5 * 12];
  CHECK(answer(e).cause_hint.empty());
}

TEST_CASE("the softmax of a row without visible entries") {
  sampler random(11);
  execution e = honest("softmax", random, {dtype::bf16, dtype::f32, dtype::bf16}, spread_of::normal, 12, 12);
  for (std::size_t i = 0; i < 12; ++i) {
    e.input(0).values[24 + i] = -HUGE_VAL;
    e.output().values[24 + i] = std::nan("");
  }
  blames(e, "fully-masked-row");
  CHECK(answer(e).nonfinite_replayed == 12);
}

TEST_CASE("a loss scale that is declared and not applied") {
  sampler random(12);
  execution e = honest("cross_entropy_gradient", random, {dtype::f16, dtype::f32, dtype::f16},
                       spread_of::normal, 24, 32);
  accepts(e);
  values small = e.output().values;
  for (double& v : small) v /= 1024;
  e.output() = stored(dtype::f16, {24, 32}, small);
  blames(e, "loss-scale");
}

TEST_CASE("a factor that is missing or applied twice") {
  sampler random(13);
  execution e = honest("scale", random, {dtype::bf16, dtype::f32, dtype::bf16}, spread_of::heavy, 24, 32);
  accepts(e);
  e.output() = e.input(0);
  blames(e, "factor-missing");
  values twice = e.input(0).values;
  for (double& v : twice) v *= 0.09;
  e.output() = stored(dtype::bf16, {24, 32}, twice);
  blames(e, "factor-repeated");
}

TEST_CASE("scales of a cast") {
  sampler random(14);
  const values x = random.draw(16 * 64, spread_of::normal);
  const tensor source = stored(dtype::f32, {16, 64}, x);
  double amax = 0;
  for (const double v : source.values) amax = std::max(amax, std::fabs(v));
  const auto quantised = [&](double scale) {
    execution e("cast", dtype::f32, dtype::f32, dtype::f8e4m3fn);
    e.read(source).write(
        stored(dtype::f8e4m3fn, {16, 64}, source.values, rounding::nearest_even, values(16 * 64, scale)));
    return e;
  };
  accepts(quantised(amax / 448));
  accepts(quantised(amax / 448 * 1.2));
  blames(quantised(amax / 448 / 16), "stale-scale");
  const auto unscaled = [&](double size) {
    execution e = quantised(1);
    for (double& v : e.input(0).values) v *= size;
    e.output() =
        stored(dtype::f8e4m3fn, {16, 64}, e.input(0).values, rounding::nearest_even, values(16 * 64, 1.0));
    return e;
  };
  blames(unscaled(1e4), "uncalibrated-scale");
  blames(unscaled(1e-4), "uncalibrated-scale");
  execution decoded_with_another = quantised(amax / 448);
  for (double& v : decoded_with_another.output().values) v *= 1.5;
  for (double& v : decoded_with_another.output().scales) v *= 1.5;
  blames(decoded_with_another, "scale-mismatch");
  execution cut = quantised(amax / 448);
  cut.output() =
      stored(dtype::f8e4m3fn, {16, 64}, source.values, rounding::toward_zero, values(16 * 64, amax / 448));
  blames(cut, "truncating-cast");
}

TEST_CASE("values that are not finite") {
  sampler random(15);
  execution e = honest("swiglu", random, {dtype::f16, dtype::f32, dtype::f16}, spread_of::normal, 8, 8);
  e.output().values[9] = std::nan("");
  judgement j = answer(e);
  CHECK(j.v == analysis::verdict::beyond);
  CHECK(j.nonfinite_created == 1);
  CHECK(j.worst_index == 9);
  e.input(0).values[9] = 60000;
  e.input(1).values[9] = 60000;
  e.output().values[9] = HUGE_VAL;
  blames(e, "op-overflow");
  CHECK(answer(e).nonfinite_replayed == 1);
  e.input(0).values[9] = std::nan("");
  CHECK(answer(e).cause_hint == "nan-dropped");
}
