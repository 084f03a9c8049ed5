// ND802: the epsilon of a norm is rounded to bf16 before it is used. In the near miss it is another number.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 11, columns = 48;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  const double told = v == version::near_miss ? 1e-3 : 3e-4;
  const double eps = rounded(v == version::test ? dtype::bf16 : dtype::f32, told);
  const array x(t, {rows, columns}, normal(rows * columns, 121, 0.05)), gamma(t, {columns}, 1);
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < columns; ++k)
      sum += x[i / columns * columns + k] * x[i / columns * columns + k];
    return x[i] / std::sqrt(sum / columns + eps);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "norm", rms_norm, numdiff::dtypes(t, dtype::f32, t).reduction(columns));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "gamma", gamma.seen());
  NUMDIFF_SCALAR(op, "eps", eps);
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd802("ND802", run, {.near_miss = "ND803"});

}  // namespace
