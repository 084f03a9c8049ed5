// Scales used the wrong way round or from other groups, values lost in the subnormal range, and non-finite
// values behind a weight of zero.
#include <doctest/doctest.h>

#include <algorithm>
#include <limits>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

constexpr const char* by_tensor = R"({"granularity":"tensor"})";
constexpr const char* by_row = R"({"granularity":"row"})";
constexpr const char* by_block = R"({"granularity":"block","block":[2,8]})";
constexpr const char* by_mx = R"({"granularity":"mx"})";
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN(), infinite = HUGE_VAL;

// One scale a group of `rows` x `columns` elements, from its amax; the group of every element.
struct grouped {
  std::vector<std::size_t> group;
  values scale;
};

grouped scales_of(const values& x, std::size_t width, std::size_t rows, std::size_t columns, double maximum,
                  bool powers) {
  grouped g;
  const std::size_t across = width / columns;
  for (std::size_t i = 0; i < x.size(); ++i)
    g.group.push_back(i / width / rows * across + i % width / columns);
  g.scale.assign(g.group.back() + 1, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    g.scale[g.group[i]] = std::max(g.scale[g.group[i]], std::fabs(x[i]) / maximum);
  for (double& s : g.scale) s = powers ? std::exp2(std::ceil(std::log2(s))) : static_cast<float>(s);
  return g;
}

values of_elements(const grouped& g) {
  values all;
  for (const std::size_t at : g.group) all.push_back(g.scale[at]);
  return all;
}

double code(dtype t, double x) {
  return decode(t, encode(t, x));
}

}  // namespace

TEST_CASE("a quantisation that multiplies by its decode scale") {
  sampler random(11);
  for (const double size : {0.02, 900.0}) {
    for (const dtype t : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::i8}) {
      values x = random.draw(8 * 24, spread_of::normal);
      for (double& v : x) v *= size;
      const tensor source = stored(dtype::f32, {8, 24}, x);
      const double maximum = t == dtype::i8 ? 127 : t == dtype::f8e5m2 ? 57344 : 448;
      const grouped g = scales_of(source.values, 24, 1, 24, maximum, false);
      const values scale = of_elements(g);
      values wrong(x.size()), right(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        wrong[i] = code(t, source.values[i] * scale[i]) * scale[i];
        right[i] = code(t, source.values[i] / scale[i]) * scale[i];
      }
      CAPTURE(size);
      CAPTURE(name_of(t));
      execution faulty("cast", dtype::f32, dtype::f32, t), honest("cast", dtype::f32, dtype::f32, t);
      faulty.read(source).write(stored(t, {8, 24}, wrong, rounding::nearest_even, scale), role::output,
                                by_row);
      honest.read(source).write(stored(t, {8, 24}, right, rounding::nearest_even, scale), role::output,
                                by_row);
      blames(faulty, "scale-direction");
      accepts(honest);
    }
  }
}

TEST_CASE("a product that divides by the decode scale of an operand") {
  sampler random(12);
  values w = random.draw(40 * 6, spread_of::normal);
  for (double& v : w) v *= 0.05;
  const grouped g = scales_of(w, 6, 40, 6, 448, false);
  const tensor a = stored(dtype::bf16, {7, 40}, random.draw(7 * 40, spread_of::normal)),
               b = stored(dtype::f8e4m3fn, {40, 6}, w, rounding::nearest_even, of_elements(g));
  values right(42, 0), wrong(42, 0);
  for (std::size_t i = 0; i < 42; ++i) {
    for (std::size_t k = 0; k < 40; ++k) right[i] += a.values[i / 6 * 40 + k] * b.values[k * 6 + i % 6];
    wrong[i] = right[i] / (g.scale[0] * g.scale[0]);
  }
  for (const bool faulty : {true, false}) {
    execution e("matmul", dtype::bf16, dtype::f32, dtype::bf16);
    e.read(a).read(b, role::weight, by_tensor).write(stored(dtype::bf16, {7, 6}, faulty ? wrong : right));
    if (faulty)
      blames(e, "scale-direction");
    else
      accepts(e);
  }
}

TEST_CASE("groups that are decoded with the scales of other groups") {
  sampler random(13);
  struct plan {
    dtype type;
    std::size_t rows, columns;
    const char* scaling;
    bool powers;
  };
  for (const plan p :
       {plan{dtype::f8e5m2, 2, 8, by_block, false}, plan{dtype::f8e4m3fn, 1, 32, by_mx, true}}) {
    constexpr std::size_t height = 6, width = 96;
    values x = random.draw(height * width, spread_of::normal);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] *= std::exp2(static_cast<double>(i / width * 7 % 5 + i % width / 32));
    const grouped g = scales_of(x, width, p.rows, p.columns, p.type == dtype::f8e5m2 ? 57344 : 448, p.powers);
    const tensor codes = stored(p.type, {height, width}, x, rounding::nearest_even, of_elements(g));
    const std::size_t n = g.scale.size(), across = width / p.columns, down = n / across;
    for (int form = 0; form < 4; ++form) {
      values y(x.size());
      for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t at = g.group[i];
        const std::size_t other = form == 0   ? (at + 1) % n
                                  : form == 1 ? 0
                                  : form == 2 ? at % across * down + at / across
                                              : at;
        y[i] = codes.values[i] / g.scale[at] * g.scale[other];
      }
      CAPTURE(form);
      execution e("cast", p.type, dtype::f32, dtype::bf16);
      e.read(codes, role::input, p.scaling).write(stored(dtype::bf16, {height, width}, y));
      if (form < 3)
        blames(e, "scale-index");
      else
        accepts(e);
    }
  }
}

TEST_CASE("columns that share their rows' scales with much larger ones") {
  sampler random(14);
  for (const bool apart : {true, false}) {
    values x = random.draw(12 * 32, spread_of::normal);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= i % 32 < 20 ? 1 : apart ? 1e-6 : 1e-2;
    const tensor source = stored(dtype::f32, {12, 32}, x);
    const grouped g = scales_of(source.values, 32, 1, 32, 448, false);
    execution e("cast", dtype::f32, dtype::f32, dtype::f8e4m3fn);
    e.read(source).write(
        stored(dtype::f8e4m3fn, {12, 32}, source.values, rounding::nearest_even, of_elements(g)),
        role::output, by_row);
    CHECK((answer(e).cause_hint == "scale-granularity") == apart);

    // A block of MX cannot be split.
    const grouped own = scales_of(source.values, 32, 1, 32, 448, true);
    execution block("cast", dtype::f32, dtype::f32, dtype::f8e4m3fn);
    block.read(source).write(
        stored(dtype::f8e4m3fn, {12, 32}, source.values, rounding::nearest_even, of_elements(own)),
        role::output, by_mx);
    CHECK(answer(block).cause_hint != "scale-granularity");
    CHECK(answer(block).v == analysis::verdict::within);
  }
}

TEST_CASE("a kernel that makes subnormal results zero") {
  sampler random(15);
  for (const dtype t : {dtype::f16, dtype::f8e4m3fn}) {
    values x = random.draw(256, spread_of::normal);
    const double smallest = std::ldexp(1.0, t == dtype::f16 ? -14 : -6);
    for (double& v : x) v *= smallest;
    const tensor source = stored(dtype::f32, {256}, x);
    values flushed = source.values;
    for (double& v : flushed) v = std::fabs(v) < smallest ? 0 : v;
    for (const char* kind : {"cast", "silu"}) {
      const bool casts = kind[0] == 'c';
      values honest = source.values;
      if (!casts)
        for (double& v : honest) v = v / (1 + std::exp(-v));
      values lost = honest;
      for (double& v : lost) v = std::fabs(v) < smallest ? 0 : v;
      execution faulty(kind, dtype::f32, dtype::f32, t), right(kind, dtype::f32, dtype::f32, t);
      faulty.read(source).write(stored(t, {256}, lost));
      right.read(source).write(stored(t, {256}, honest));
      CAPTURE(kind);
      blames(faulty, casts ? "cast-underflow" : "op-underflow");
      accepts(right);
    }
  }
}

TEST_CASE("a non-finite value behind a weight of zero") {
  for (const double bad : {not_a_number, infinite, -infinite}) {
    for (const bool selects : {true, false}) {
      const tensor weight = stored(dtype::bf16, {2, 3}, {0.5, 0.25, 0, 1, 0.125, 0});
      tensor x = stored(dtype::bf16, {3, 2}, {1, 2, 3, 4, 0, 0});
      x.values[4] = x.values[5] = bad;
      const values y = {1.25, 2, 1.375, 2.5};
      execution e("matmul", dtype::bf16, dtype::f32, dtype::bf16);
      e.read(weight).read(x).write(stored(dtype::bf16, {2, 2}, selects ? y : values(4, not_a_number)));
      CAPTURE(bad);
      if (selects)
        accepts(e);
      else
        blames(e, "masked-value-leak");

      execution m("multiply", dtype::f32, dtype::f32, dtype::f32);
      tensor z = stored(dtype::f32, {3}, {2, 5, 0});
      z.values[2] = bad;
      m.read(z).read(stored(dtype::f32, {3}, {1, 1, 0}));
      m.write(stored(dtype::f32, {3}, {2, 5, selects ? 0 : not_a_number}));
      if (selects)
        accepts(m);
      else
        blames(m, "masked-value-leak");
    }
  }
  // A weight that is not zero passes it on.
  execution e("matmul", dtype::bf16, dtype::f32, dtype::bf16);
  tensor x = stored(dtype::bf16, {2, 1}, {1, 0});
  x.values[1] = not_a_number;
  e.read(stored(dtype::bf16, {1, 2}, {0.5, 0.25})).read(x).write(stored(dtype::bf16, {1, 1}, {not_a_number}));
  CHECK(answer(e).cause_hint.empty());
  CHECK(answer(e).nonfinite_replayed == 0);
}

TEST_CASE("two empty states of a softmax") {
  const tensor a = stored(dtype::f32, {4}, {1, -infinite, 2, -infinite}),
               b = stored(dtype::f32, {4}, {3, 1, -infinite, -infinite});
  for (const double merged : {not_a_number, 0.0, -infinite}) {
    execution e("subtract", dtype::f32, dtype::f32, dtype::f32);
    e.read(a).read(b).write(stored(dtype::f32, {4}, {-2, -infinite, infinite, merged}));
    CAPTURE(merged);
    if (std::isnan(merged))
      blames(e, "empty-state-merge");
    else
      CHECK(answer(e).v != analysis::verdict::beyond);
  }
}

TEST_CASE("sums of byte products in 16 bits") {
  sampler random(16);
  values a(5 * 64), b(64 * 3);
  for (double& v : a) v = static_cast<double>(random.between(0, 255));
  for (double& v : b) v = static_cast<double>(random.between(-40, 127));
  for (int form = 0; form < 3; ++form) {
    values c(15, 0);
    for (std::size_t i = 0; i < 15; ++i) {
      for (std::size_t k = 0; k < 64; ++k) {
        c[i] += a[i / 3 * 64 + k] * b[k * 3 + i % 3];
        if (form == 1) c[i] = std::clamp(c[i], -32768.0, 32767.0);
        if (form == 2) c[i] = static_cast<std::int16_t>(static_cast<std::int64_t>(c[i]));
      }
    }
    execution e("matmul", dtype::u8, dtype::i32, dtype::i32);
    e.read(stored(dtype::u8, {5, 64}, a)).read(stored(dtype::i8, {64, 3}, b), role::weight);
    e.write(stored(dtype::i32, {5, 3}, c));
    CAPTURE(form);
    if (form == 0)
      accepts(e);
    else
      blames(e, "accumulator-overflow");
  }
}
