// Faults that show in one operand: a factor that is a tensor of one element, a state whose steps are lost,
// one input of two that was rounded, squares beyond the range.
#include <doctest/doctest.h>

#include <cmath>

#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

values ramp(std::size_t n, double size = 1) {
  values v(n);
  for (std::size_t i = 0; i < n; ++i) v[i] = size * (1.5 + std::sin(0.7 * static_cast<double>(i)));
  return v;
}

execution with_one_number(const char* kind, double number, double applied) {
  const tensor x = stored(dtype::f32, {4, 8, 5}, ramp(160));
  execution e(kind, dtype::f32, dtype::f32, dtype::f32);
  e.read(x).read(stored(dtype::f32, {}, {number}));
  values y = x.values;
  for (double& v : y) v *= applied;
  e.write(stored(dtype::f32, {4, 8, 5}, y));
  return e;
}

// p -= step by the formula of `kind`; the state is stored in `held`.
execution decayed(double keep, dtype held) {
  const tensor p = stored(held, {9, 20}, ramp(180));
  execution e("scale", held, dtype::f32, held);
  e.read(p, role::state).scalar("factor", keep);
  values y = p.values;
  for (double& v : y) v *= keep;
  e.write(stored(held, {9, 20}, y), role::state);
  return e;
}

execution adam(double lr, dtype held, dtype moments) {
  constexpr std::size_t n = 120;
  const tensor p = stored(held, {n}, ramp(n)), g = stored(dtype::f32, {n}, ramp(n, 0.1)),
               m = stored(moments, {n}, ramp(n, 0.1)), v = stored(moments, {n}, ramp(n, 0.01));
  execution e("adamw", dtype::f32, dtype::f32, held);
  e.read(p, role::weight).read(g).read(m, role::state).read(v, role::state);
  e.scalar("lr", lr).scalar("beta1", 0.9).scalar("beta2", 0.9999).scalar("eps", 1e-8).scalar("update", 50);
  values next_m(n), next_v(n), next(n);
  for (std::size_t i = 0; i < n; ++i) {
    next_m[i] = 0.9 * m.values[i] + 0.1 * g.values[i];
    next_v[i] = 0.9999 * v.values[i] + 1e-4 * g.values[i] * g.values[i];
  }
  const tensor sm = stored(moments, {n}, next_m), sv = stored(moments, {n}, next_v);
  for (std::size_t i = 0; i < n; ++i) {
    next[i] = p.values[i] - lr * sm.values[i] / (1 - std::pow(0.9, 50)) /
                                (std::sqrt(sv.values[i] / (1 - std::pow(0.9999, 50))) + 1e-8);
  }
  e.write(stored(held, {n}, next)).write(sm, role::state).write(sv, role::state);
  return e;
}

}  // namespace

TEST_CASE("a factor that is an operand of one element") {
  accepts(with_one_number("multiply", 0.125, 0.125));
  blames(with_one_number("multiply", 0.125, 1), "factor-missing");
  blames(with_one_number("multiply", 0.125, 1.0 / 64), "factor-repeated");
  accepts(with_one_number("divide", 24, 1.0 / 24));
  blames(with_one_number("divide", 24, 1), "factor-missing");
  blames(with_one_number("divide", 24, 1.0 / 576), "factor-repeated");
  blames(with_one_number("divide", 24, 1.0 / 12), "wrong-divisor");
}

TEST_CASE("steps below half an ulp of a state") {
  CHECK(answer(decayed(1 - 1e-4, dtype::bf16)).cause_hint == "lost-update");
  accepts(decayed(1 - 1e-4, dtype::f32));
  accepts(decayed(1 - 0.1, dtype::bf16));
  CHECK(answer(adam(1e-6, dtype::bf16, dtype::f32)).cause_hint == "lost-update");
  accepts(adam(1e-5, dtype::f32, dtype::f32));
  accepts(adam(1, dtype::bf16, dtype::f32));
  // The second moment, which a beta near one moves by a ten-thousandth.
  CHECK(answer(adam(1e-2, dtype::f32, dtype::bf16), 2).cause_hint == "lost-update");
  accepts(adam(1e-2, dtype::f32, dtype::f32), 2);
}

TEST_CASE("one operand of a product was rounded") {
  const tensor a = stored(dtype::f32, {12, 70}, ramp(840)), b = stored(dtype::f32, {70, 9}, ramp(630));
  for (const dtype low : {dtype::tf32, dtype::bf16, dtype::f16}) {
    for (const bool left : {true, false}) {
      tensor x = a, y = b;
      for (double& v : (left ? x : y).values) v = decode(low, encode(low, v));
      execution e("matmul", dtype::f32, dtype::f32, dtype::f32);
      e.read(a).read(b, role::weight);
      e.write(stored(dtype::f32, {12, 9}, product({dtype::f32}, x, y, 12, 9, 70)));
      blames(e, "reduced-input-precision");
    }
  }
}

TEST_CASE("squares beyond the range make the rows of a norm zero") {
  values x = ramp(6 * 40, 2);
  x[3 * 40 + 7] = 500;
  const tensor rows = stored(dtype::f16, {6, 40}, x), ones = stored(dtype::f16, {40}, values(40, 1.0));
  for (const dtype told : {dtype::f16, dtype::f32}) {
    for (const bool overflows : {true, false}) {
      execution e("rms_norm", dtype::f16, told, dtype::f16);
      e.read(rows).read(ones, role::weight).scalar("eps", 1e-5);
      values y = rows.values;
      for (std::size_t r = 0; r < 6; ++r) {
        double squares = 0;
        for (std::size_t i = 0; i < 40; ++i) squares += rows.values[r * 40 + i] * rows.values[r * 40 + i];
        if (overflows && squares > 65504) squares = HUGE_VAL;
        for (std::size_t i = 0; i < 40; ++i) y[r * 40 + i] /= std::sqrt(squares / 40 + 1e-5);
      }
      e.write(stored(dtype::f16, {6, 40}, y));
      overflows ? blames(e, "op-overflow") : accepts(e);
    }
  }
}
