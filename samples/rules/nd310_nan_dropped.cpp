// ND310: the amax of a tensor leaves out a NaN, as comparisons with NaN do. The near miss leaves out nothing:
// it has an infinity, and the amax is infinite.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 9, columns = 13;
  const bool infinite = v == version::near_miss || v == version::near_miss_reference;
  const std::vector<double> values = normal(rows * columns, 113);
  const array x = mapped(dtype::bf16, {rows, columns}, [&](std::size_t i) {
    return i == 50 ? (infinite ? HUGE_VAL : std::nan("")) : values[i];
  });
  double top = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i]) && v != version::test) top = x[i];
    if (std::abs(x[i]) > top) top = std::abs(x[i]);
  }
  const dtype out = v == version::test || v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array y(out, {1}, top);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "grad.amax", amax, numdiff::dtypes(dtype::bf16, dtype::f32, out));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd310("ND310", run, {.own_reference = true});

}  // namespace
