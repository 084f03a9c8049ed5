// ND901: an op of its own kind divides zero by zero. In the near miss its input holds the NaN already, in
// both runs.
#include <cmath>
#include <limits>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 8, columns = 36;

void run(version v, numdiff::session&, std::int32_t) {
  const bool poisoned = v == version::near_miss || v == version::near_miss_reference;
  const dtype t = v == version::reference || v == version::near_miss_reference ? dtype::f32 : dtype::f16;
  array x(t, {rows, columns}, normal(rows * columns, 181, 3e-5));
  if (poisoned) x.set(40, std::numeric_limits<double>::quiet_NaN());
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    double sum = 0;
    // Squares of numbers this small are zero in fp16.
    for (std::size_t k = 0; k < columns; ++k) {
      const double a = x[i / columns * columns + k];
      sum += v == version::test ? rounded(t, a * a) : a * a;
    }
    return x[i] / std::sqrt(sum) * (sum == 0 ? 0 : 1);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "unit_rows", unit_rows, numdiff::dtypes(t, t, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd901("ND901", run, {.own_reference = true});

}  // namespace
