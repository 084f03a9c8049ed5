// ND808: a scatter to rows whose terms come in another order in every execution of the program, as atomic
// additions do. The near miss is off by more than that.
#include <cstddef>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::size_t rows = 40, columns = 90;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 23, 1.0));
  array y(dtype::f32, {rows});
  for (std::size_t i = 0; i < rows; ++i) {
    // Where the first thread starts.
    const std::size_t start = v == version::reference ? 0 : v == version::good ? 31 : 62;
    float sum = 0;
    for (std::size_t k = 0; k < columns; ++k)
      sum += static_cast<float>(x[i * columns + (start + k) % columns]);
    y.set(i, v == version::near_miss ? 1.001 * sum : sum);
  }
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "row_sum", scatter_add,
             numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).reduction(columns));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

expectation expected() {
  expectation e;
  e.near_miss = "ND908";
  e.found_in = "findings";
  e.good_run = true;
  return e;
}

const reproduction nd808("ND808", run, expected());

}  // namespace
