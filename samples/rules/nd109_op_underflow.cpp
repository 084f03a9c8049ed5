// ND109: squares of small numbers are zero in fp16. In the near miss an exponential in fp16 loses as many
// results, but they are the tail of rows whose largest entries stay.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 6, columns = 22;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  if (v == version::near_miss || v == version::near_miss_reference) {
    const array x = mapped(dtype::f16, {rows, columns},
                           [](std::size_t i) { return -3.0 * static_cast<double>(i % columns); });
    const array y = mapped(stored, {rows, columns}, [&](std::size_t i) { return std::exp(x[i]); });
    NUMDIFF_OP(op, "decay.exp", exponential, numdiff::dtypes(dtype::f16, dtype::f32, stored));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_OUTPUT(op, "y", y.seen());
    return;
  }
  const array x(dtype::f16, {rows, columns}, normal(rows * columns, 21, 6e-5));
  const array y = mapped(stored, {rows, columns}, [&](std::size_t i) { return x[i] * x[i]; });
  NUMDIFF_OP(op, "energy.square", square, numdiff::dtypes(dtype::f16, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd109("ND109", run, {.own_reference = true});

}  // namespace
