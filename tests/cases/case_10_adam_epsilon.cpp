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

}  // namespace

TEST_CASE("the constant that became zero is the cause; the NaN of the division follows") {
  const auto c = compared(adam(dtype::f32), adam(dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "denominator underflow constant-underflow");
  CHECK(nonfinite(c) == "division");
  CHECK(lost(c).find("second moment underflow") != std::string::npos);
}
