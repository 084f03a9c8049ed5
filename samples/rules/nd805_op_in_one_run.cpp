// ND805: the test has an op that the reference has not. In the near miss that op is a cast, which is judged
// by what it reads and writes alone.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 10, columns = 33;

void run(version v, numdiff::session&, std::int32_t) {
  const bool wide = v == version::reference;
  const dtype t = wide ? dtype::f32 : dtype::f16;
  array x(dtype::f32, {rows, columns}, normal(rows * columns, 151));
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  if (v == version::test) {
    const array bounded =
        mapped(dtype::f32, {rows, columns}, [&](std::size_t i) { return 30 * std::tanh(x[i] / 30); });
    NUMDIFF_OP(op, "soft_cap", soft_cap, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_OUTPUT(op, "y", bounded.seen());
    x = bounded;
  }
  const array low = x.as(t);
  if (!wide) {
    NUMDIFF_OP(op, "to_half", cast, numdiff::dtypes(dtype::f32, dtype::f32, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_CAST(op, "y", x.seen(), low.seen());
  }
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) { return low[i] / (1 + std::exp(-low[i])); });
  NUMDIFF_OP(op, "act", silu, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", low.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd805("ND805", run, {.found_in = "findings"});

}  // namespace
