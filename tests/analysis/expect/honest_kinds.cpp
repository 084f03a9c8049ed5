// Honest executions of every kind but products are within their expectation, in every format.
#include <doctest/doctest.h>

#include "analysis/expect/honest.hpp"

using namespace numdiff;
using namespace numdiff::test;

TEST_CASE("an honest op of any kind is within its expectation") {
  const formats all[] = {
      {dtype::bf16, dtype::f32, dtype::bf16},
      {dtype::f16, dtype::f32, dtype::f16},
      {dtype::f32, dtype::f32, dtype::f32},
      {dtype::f64, dtype::f64, dtype::f64},
      {dtype::bf16, dtype::f32, dtype::f32},
      {dtype::f32, dtype::f32, dtype::bf16},
      {dtype::bf16, dtype::f64, dtype::bf16},
      {dtype::f32, dtype::f32, dtype::f8e5m2},
      {dtype::f32, dtype::f32, dtype::bf16, rounding::toward_zero},
  };
  sampler random(3);
  for (const char* kind : product_free_kinds) {
    for (const formats& f : all) {
      for (const spread_of spread : all_spreads) {
        for (int round = 0; round < 6; ++round) {
          const std::int64_t rows = round == 0 ? 1 : random.between(2, 40),
                             width = 2 * random.between(2, round == 5 ? 200 : 32);
          const execution e = honest(kind, random, f, spread, rows, width);
          const replayed r = e.replay();
          INFO(std::string(kind) << " " << std::string(name_of(f.in)) << " "
                                 << std::string(name_of(f.accumulate)) << " " << std::string(name_of(f.out))
                                 << " spread " << static_cast<int>(spread) << " rows " << rows << " width "
                                 << width);
          REQUIRE_MESSAGE(r.done, r.why_not);
          for (const judgement& j : r.outputs) {
            INFO("write " << j.write << ": " << j.ratio << " of " << j.limit << ", n " << j.effective_count
                          << ", worst " << j.worst_ulp << " ulp at " << j.worst_index << ", over "
                          << j.evidence[1].second << ", excess " << j.evidence[3].second << " created "
                          << j.nonfinite_created << " replayed " << j.nonfinite_replayed << ": " << j.reason
                          << ", " << j.cause_hint);
            CHECK(j.v == analysis::verdict::within);
          }
        }
      }
    }
  }
}

TEST_CASE("FP64 probabilities so small that their squared errors are zero are within their expectation") {
  sampler random(23);
  const std::int64_t n = 40;
  values x(static_cast<std::size_t>(8 * n));
  for (double& v : x) v = -static_cast<double>(random.between(0, 700)) + 0.1 * random.normal();
  const tensor logits = stored(dtype::f64, {8, n}, x);
  execution e("softmax", dtype::f64, dtype::f64, dtype::f64);
  const tensor p = stored(dtype::f64, {8, n}, softmax_of<double>(logits.values, 40, 1));
  e.read(logits).write(p);
  CHECK(e.replay().outputs.at(0).v == analysis::verdict::within);
  // A row that is wrong by as little as formats tell is still found.
  e.output().values[3 * 40] += 1e-9;
  CHECK(e.replay().outputs.at(0).v == analysis::verdict::beyond);

  const tensor dp = stored(dtype::f64, {8, n}, random.draw(x.size(), spread_of::normal));
  values dx(x.size());
  for (std::size_t r = 0; r < x.size(); r += 40) {
    double dot = 0;
    for (std::size_t i = r; i < r + 40; ++i) dot += dp.values[i] * p.values[i];
    for (std::size_t i = r; i < r + 40; ++i) dx[i] = p.values[i] * (dp.values[i] - dot);
  }
  execution gradient("softmax_gradient", dtype::f64, dtype::f64, dtype::f64);
  gradient.read(dp).read(p).write(stored(dtype::f64, {8, n}, dx), role::gradient);
  CHECK(gradient.replay().outputs.at(0).v == analysis::verdict::within);
}

TEST_CASE("scaled operands that f32 does not hold are rounded once more, also where they cancel") {
  sampler random(29);
  const std::int64_t n = 64;
  for (const char* kind : {"add", "subtract", "multiply", "square_root", "sum"}) {
    const bool root = kind == std::string("square_root"), sums = kind == std::string("sum");
    const values draws =
        random.draw(static_cast<std::size_t>(n * n), root ? spread_of::positive : spread_of::normal);
    const tensor x =
        stored(dtype::f8e4m3fn, {n, n}, draws, rounding::nearest_even, values(draws.size(), 0.0123456F));
    values near = x.values;
    for (double& v : near) v = (kind == std::string("add") ? -v : v) + 1e-3 * random.normal();
    const tensor y = stored(dtype::bf16, {n, n}, near);
    values z(sums ? static_cast<std::size_t>(n) : x.values.size(), 0);
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const auto a = static_cast<float>(x.values[i]), b = static_cast<float>(y.values[i]);
      if (sums)
        z[i % z.size()] = static_cast<float>(z[i % z.size()]) + a;
      else
        z[i] = root ? std::sqrt(a) : kind[0] == 'a' ? a + b : kind[0] == 's' ? a - b : a * b;
    }
    execution e(kind, dtype::f8e4m3fn, dtype::f32, dtype::f32);
    e.read(x);
    if (!root && !sums) e.read(y);
    e.write(stored(dtype::f32, sums ? extents{n} : extents{n, n}, z));
    const replayed r = e.replay();
    INFO(kind);
    REQUIRE_MESSAGE(r.done, r.why_not);
    CHECK(r.outputs[0].v == analysis::verdict::within);
    // What formats do not explain is still found.
    e.output().values[7] += 1e-3;
    CHECK(e.replay().outputs.at(0).v == analysis::verdict::beyond);
  }
}

TEST_CASE("sums of addends whose signs alternate are within their expectation, by index and in lanes") {
  sampler random(31);
  const std::int64_t n = 112;
  values x(static_cast<std::size_t>(11 * n));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = (i % 2 == 0 ? 3 : -3) + 0.05 * random.normal();
  const tensor stored_x = stored(dtype::f32, {11, n}, x);
  for (const std::size_t lanes : {1U, 2U, 8U}) {
    values y(11);
    for (std::size_t r = 0; r < y.size(); ++r) {
      std::vector<float> parts(lanes, 0.0F);
      for (std::size_t i = 0; i < 112; ++i)
        parts[i % lanes] += static_cast<float>(stored_x.values[r * 112 + i]);
      float sum = 0;
      for (const float part : parts) sum += part;
      y[r] = sum / 112;
    }
    execution e("mean", dtype::f32, dtype::f32, dtype::f32);
    e.read(stored_x).write(stored(dtype::f32, {11}, y));
    CHECK(e.replay().outputs.at(0).v == analysis::verdict::within);
  }
}

TEST_CASE("tails of a bf16 gradient far below its largest value may vanish, small gradients may not") {
  values tail(400), small(400);
  sampler random(37);
  for (std::size_t i = 0; i < tail.size(); ++i) {
    tail[i] = i % 4 == 0 ? 1e-43 : random.normal();
    small[i] = std::ldexp(random.normal(), i % 4 == 0 ? -145 : -130);
  }
  const auto hint = [](const values& x) {
    execution e("scale", dtype::f64, dtype::f32, dtype::bf16);
    e.row().phase = static_cast<std::uint16_t>(phase::backward);
    values y = x;
    for (double& v : y) v *= 0.5;
    e.read(stored(dtype::f64, {400}, x)).scalar("factor", 0.5);
    return e.write(stored(dtype::bf16, {400}, y), role::gradient).replay().outputs.at(0).cause_hint;
  };
  CHECK(hint(tail).empty());
  CHECK(hint(small) == "loss-scale");
}

TEST_CASE("addends that cancel to zero are no gradients lost for want of a loss scale") {
  values x(120), y(40, 0.0);
  for (std::size_t i = 0; i < 120; ++i) x[i] = i < 40 ? 1 : i < 80 ? 1e-9 : -1;
  execution e("sum", dtype::f32, dtype::f32, dtype::f32);
  e.row().phase = static_cast<std::uint16_t>(phase::backward);
  e.read(stored(dtype::f32, {3, 40}, x)).write(stored(dtype::f32, {40}, y), role::gradient);
  const judgement j = e.replay().outputs.at(0);
  CHECK(j.v == analysis::verdict::within);
  CHECK(j.cause_hint.empty());
}
