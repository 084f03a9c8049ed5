// ND201: a row of padding sees nothing, and its softmax divides zero by zero. In the near miss the masked
// entries hold the lowest finite number, and the row becomes uniform.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t heads = 3, rows = 4, columns = 7;
  const double fill = v == version::near_miss || v == version::near_miss_reference ? -65504 : -HUGE_VAL;
  const dtype out = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const array x = mapped(dtype::f16, {heads, rows, columns}, [&](std::size_t i) {
    return i / columns % rows == 0 || i % columns > 4 ? fill : 0.5 * static_cast<double>(i % 4);
  });
  const array p = mapped(out, {heads, rows, columns}, [&](std::size_t i) {
    double top = -HUGE_VAL, sum = 0;
    for (std::size_t j = i / columns * columns; j < (i / columns + 1) * columns; ++j)
      top = std::max(top, x[j]);
    if (v == version::reference && std::isinf(top)) return 0.0;
    for (std::size_t j = i / columns * columns; j < (i / columns + 1) * columns; ++j)
      sum += std::exp(x[j] - top);
    return std::exp(x[i] - top) / sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "local.softmax", softmax, numdiff::dtypes(dtype::f16, dtype::f32, out));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "p", p.seen());
}

const reproduction nd201("ND201", run, {.own_reference = true});

}  // namespace
