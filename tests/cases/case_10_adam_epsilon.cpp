// Adam in fp16 arithmetic: epsilon and small second moments become zero.
// Reported as google-deepmind/optax#1754.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program adam(dtype t) {
  return [=](session&, std::int32_t) {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(optimizer);
    const array g = array(dtype::f16, {3}, {0, 1e-4, 1e-2}).as(t);
    const auto moment = [&] {
      NUMDIFF_OP(op, "first moment", scale, numdiff::dtypes(t, t, t));
      NUMDIFF_INPUT(op, "g", g.seen());
      NUMDIFF_SCALAR(op, "factor", rounded(dtype::f16, 0.1));
      const array m = mapped(t, {3}, [&](std::size_t i) { return g[i] * rounded(dtype::f16, 0.1); });
      NUMDIFF_OUTPUT(op, "m", m.seen());
      return m;
    };
    const array m = moment();
    const auto squares = [&] {
      NUMDIFF_OP(op, "second moment", square, numdiff::dtypes(t, t, t));
      NUMDIFF_INPUT(op, "g", g.seen());
      const array v = mapped(t, {3}, [&](std::size_t i) { return g[i] * g[i]; });
      NUMDIFF_OUTPUT(op, "v", v.seen());
      return v;
    };
    const array v = squares();
    const double eps = rounded(t, 1e-8);
    const auto below = [&] {
      NUMDIFF_OP(op, "denominator", root_plus_epsilon, numdiff::dtypes(t, t, t));
      NUMDIFF_INPUT(op, "v", v.seen());
      NUMDIFF_SCALAR(op, "eps", eps);
      const array d = mapped(t, {3}, [&](std::size_t i) { return rounded(t, std::sqrt(v[i])) + eps; });
      NUMDIFF_OUTPUT(op, "d", d.seen());
      return d;
    };
    const array d = below();
    NUMDIFF_OP(op, "division", divide, numdiff::dtypes(t, t, t));
    NUMDIFF_INPUT(op, "m", m.seen());
    NUMDIFF_INPUT(op, "d", d.seen());
    const array u = mapped(t, {3}, [&](std::size_t i) { return m[i] / d[i]; });
    NUMDIFF_OUTPUT(op, "update", u.seen());
  };
}

// Where epsilon stands: a tensor of one element that is added, or inside a reciprocal root, told in f32.
enum class epsilon { tensor, inside };

program update(dtype t, epsilon where) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t n = 300;
    const auto all = numdiff::dtypes(t, t, t);
    std::vector<double> raw = normal(n, 5, 2e-3);
    for (std::size_t i = 0; i < 20; ++i) raw[i * 7] = 0;
    for (std::size_t i = 0; i < 15; ++i) raw[i * 11 + 3] = 5e-5;
    const array g = array(dtype::f16, {n}, raw).as(t);
    const auto squares = [&] {
      NUMDIFF_OP(op, "squares", multiply, all);
      NUMDIFF_INPUT(op, "a", g.seen());
      NUMDIFF_INPUT(op, "b", g.seen());
      const array v = mapped(t, {n}, [&](std::size_t i) { return g[i] * g[i]; });
      NUMDIFF_OUTPUT(op, "v", v.seen());
      return v;
    };
    const array v = squares();
    if (where == epsilon::inside) {
      NUMDIFF_OP(op, "reciprocal", reciprocal_square_root, all);
      NUMDIFF_INPUT(op, "v", v.seen());
      NUMDIFF_SCALAR(op, "eps", 1e-8F);
      const array r = mapped(t, {n}, [&](std::size_t i) {
        return 1 / std::sqrt(rounded(t, v[i] + rounded(t, rounded(dtype::f32, 1e-8))));
      });
      NUMDIFF_OUTPUT(op, "r", r.seen());
      return;
    }
    const auto root = [&] {
      NUMDIFF_OP(op, "root", square_root, all);
      NUMDIFF_INPUT(op, "v", v.seen());
      const array s = mapped(t, {n}, [&](std::size_t i) { return std::sqrt(v[i]); });
      NUMDIFF_OUTPUT(op, "s", s.seen());
      return s;
    };
    const array s = root(), eps(t, {1}, 1e-8);
    const auto below = [&] {
      NUMDIFF_OP(op, "denominator", add, all);
      NUMDIFF_INPUT(op, "s", s.seen());
      NUMDIFF_INPUT(op, "eps", eps.seen());
      const array d = mapped(t, {n}, [&](std::size_t i) { return s[i] + eps[0]; });
      NUMDIFF_OUTPUT(op, "d", d.seen());
      return d;
    };
    const array d = below();
    NUMDIFF_OP(op, "quotient", divide, all);
    NUMDIFF_INPUT(op, "g", g.seen());
    NUMDIFF_INPUT(op, "d", d.seen());
    const array u = mapped(t, {n}, [&](std::size_t i) { return g[i] / d[i]; });
    NUMDIFF_OUTPUT(op, "u", u.seen());
  };
}

}  // namespace

TEST_CASE("the constant that became zero is the cause; the NaN of the division follows") {
  const auto c = compared(adam(dtype::f32), adam(dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "denominator underflow constant-underflow");
  CHECK(nonfinite(c) == "division");
  CHECK(lost(c).find("second moment underflow") != std::string::npos);
}

TEST_CASE("an epsilon that is a tensor of one element") {
  const auto c = compared(update(dtype::f32, epsilon::tensor), update(dtype::f16, epsilon::tensor));
  INFO(told(c));
  CHECK(first(c) == "denominator underflow constant-underflow");
  CHECK(nonfinite(c) == "quotient");
}

TEST_CASE("an epsilon that vanishes inside the op makes an infinity, which is no overflow") {
  const auto c = compared(update(dtype::f32, epsilon::inside), update(dtype::f16, epsilon::inside));
  INFO(told(c));
  CHECK(first(c) == "reciprocal underflow constant-underflow");
  CHECK(nonfinite(c) == "reciprocal");
}

TEST_CASE("bf16 has the range for the same epsilon") {
  for (const epsilon where : {epsilon::tensor, epsilon::inside}) {
    const auto c = compared(update(dtype::f32, where), update(dtype::bf16, where));
    INFO(told(c));
    CHECK(c.verdict == analysis::outcome::agree);
  }
}
