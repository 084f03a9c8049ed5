// ND807: a column sum is recomputed and its order is another one: other bits from the same inputs. In the
// near miss the order is kept.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::size_t rows = 300, columns = 24;

array column_sums(const array& x, bool other_order) {
  return mapped(dtype::f32, {columns}, [&](std::size_t c) {
    double sum = 0;
    for (std::size_t n = 0; n < rows; ++n) {
      const std::size_t r = other_order ? n * 7 % rows : n;
      sum = rounded(dtype::f32, sum + x[r * columns + c]);
    }
    return sum;
  });
}

void run(version v, numdiff::session&, std::int32_t) {
  const array x(v == version::reference ? dtype::f32 : dtype::bf16, {rows, columns},
                normal(rows * columns, 171));
  NUMDIFF_STEP(0);
  for (const bool again : {false, true}) {
    if (again && v == version::reference) continue;
    const auto pass = numdiff::scoped::phase(again ? numdiff::phase::recompute : numdiff::phase::forward);
    const array y = column_sums(x, again && v == version::test);
    NUMDIFF_OP(op, "load", sum, numdiff::dtypes(x.type(), dtype::f32, dtype::f32).reduction(rows));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_OUTPUT(op, "y", y.seen());
  }
}

const reproduction nd807("ND807", run, {.found_in = "findings"});

}  // namespace
