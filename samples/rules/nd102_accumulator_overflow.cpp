// ND102: column sums whose terms fit fp16 and whose running sum does not; they are stored in bf16, which has
// the range. The near miss accumulates in fp32 and overflows when it stores the sum in fp16.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 60, columns = 5;
  const array x = mapped(dtype::f16, {rows, columns},
                         [](std::size_t i) { return 1800.0 + static_cast<double>(i * 37 % 100); });
  const dtype sum = v == version::test ? dtype::f16 : dtype::f32;
  const dtype stored = v == version::near_miss ? dtype::f16 : dtype::bf16;
  const array y = mapped(stored, {columns}, [&](std::size_t j) {
    double total = 0;
    for (std::size_t r = 0; r < rows; ++r) total = rounded(sum, total + x[r * columns + j]);
    return total;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(
      op, "column.sum", sum,
      numdiff::dtypes(dtype::f16, sum, stored).reduction(rows).order(numdiff::reduction_order::sequential));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd102("ND102", run, {.near_miss = "ND104"});

}  // namespace
