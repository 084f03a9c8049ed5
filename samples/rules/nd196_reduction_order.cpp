// ND196: the same fp32 sums, added from the other end. The near miss adds in bf16.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 90, columns = 11;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 81));
  const array y = mapped(dtype::f32, {columns}, [&](std::size_t j) {
    double total = 0;
    for (std::size_t k = 0; k < rows; ++k) {
      const std::size_t row = v == version::test ? rows - 1 - k : k;
      total = rounded(v == version::near_miss ? dtype::bf16 : dtype::f32, total + x[row * columns + j]);
    }
    return total;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "bias.sum", sum, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).reduction(rows));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd196("ND196", run, {.near_miss = "ND407", .found_in = "findings"});

}  // namespace
