// ND505: every element of an activation is 1.7 times too large, and no recorded number explains that. In the
// near miss only every second row is: no factor of the tensor.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 24, width = 40;
  const array x(dtype::f16, {rows, width}, normal(rows * width, 201));
  const array y = mapped(dtype::f16, {rows, width}, [&](std::size_t i) {
    const bool off = v == version::test || (v == version::near_miss && i / width % 2 == 1);
    return x[i] / (1 + std::exp(-x[i])) * (off ? 1.7 : 1);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "gate.act", silu, numdiff::dtypes(dtype::f16, dtype::f32, dtype::f16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd505("ND505", run, {.near_miss = "ND902"});

}  // namespace
