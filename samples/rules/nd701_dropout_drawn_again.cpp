// ND701: a block is recomputed for its backward pass, and its dropout draws another mask. In the near miss it
// draws the same one, and the product before it sums in another order.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 18, inner = 44, columns = 26;

void block(version v, bool again) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  const array x(t, {rows, inner}, normal(rows * inner, 61)),
      w(t, {inner, columns}, normal(inner * columns, 62, 0.2));
  const bool backwards = again && v == version::near_miss;
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t n = 0; n < inner; ++n) {
      const std::size_t k = backwards ? inner - 1 - n : n;
      sum = rounded(dtype::f32, sum + x[i / columns * inner + k] * w[k * columns + i % columns]);
    }
    return sum;
  });
  const std::vector<double> noise = normal(rows * columns, again && v == version::test ? 64 : 63);
  const array z =
      mapped(t, {rows, columns}, [&](std::size_t i) { return noise[i] > 1.2 ? 0 : y[i] / 0.875; });
  {
    NUMDIFF_OP(op, "fc", matmul, numdiff::dtypes(t, dtype::f32, t).mnk(rows, columns, inner));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_WEIGHT(op, "w", w.seen());
    NUMDIFF_OUTPUT(op, "y", y.seen());
  }
  NUMDIFF_OP(op, "dropout", dropout, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", y.seen());
  NUMDIFF_OUTPUT(op, "y", z.seen());
}

void run(version v, numdiff::session&, std::int32_t) {
  NUMDIFF_STEP(0);
  {
    NUMDIFF_PHASE(forward);
    block(v, false);
  }
  if (v == version::reference) return;
  NUMDIFF_PHASE(recompute);
  block(v, true);
}

const reproduction nd701("ND701", run);

}  // namespace
