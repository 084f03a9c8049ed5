// ND191: a softmax row that sees nothing is zero in one run and uniform in the other. The near miss makes it
// NaN.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 5, columns = 6;
  const array x = mapped(dtype::bf16, {rows, columns}, [](std::size_t i) {
    return i / columns == 3 || i % columns > i / columns + 2 ? -HUGE_VAL : 0.25 * static_cast<double>(i % 3);
  });
  const double empty = v == version::test ? 1.0 / columns : v == version::near_miss ? std::nan("") : 0;
  const array p = mapped(dtype::bf16, {rows, columns}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t j = i / columns * columns; j < (i / columns + 1) * columns; ++j) sum += std::exp(x[j]);
    return sum == 0 ? empty : std::exp(x[i]) / sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "window.softmax", softmax, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::bf16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "p", p.seen());
}

const reproduction nd191("ND191", run, {.near_miss = "ND201", .found_in = "findings"});

}  // namespace
