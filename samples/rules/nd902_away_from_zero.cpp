// ND902: a product rounds away from zero, which no rule has a name for. In the near miss it is off by an ulp
// to either side.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 30, columns = 41;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  const array x(t, {rows, columns}, normal(rows * columns, 191)),
      y(t, {rows, columns}, normal(rows * columns, 192));
  const array z = mapped(t, {rows, columns}, [&](std::size_t i) {
    const double exact = x[i] * y[i], away = std::ldexp(std::abs(exact), -8),
                 sign = std::copysign(1.0, exact);
    if (v == version::test) return exact + sign * away;
    if (v == version::near_miss) return exact + (i % 2 == 0 ? 2 : -2) * away;
    return exact;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "gate", multiply, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "y", y.seen());
  NUMDIFF_OUTPUT(op, "z", z.seen());
}

const reproduction nd902("ND902", run, {.near_miss = "ND903"});

}  // namespace
