// ND904: an op of its own kind gives the reference's result times 3. In the near miss it gives that result in
// another format.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 22, columns = 23;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array x(dtype::bf16, {rows, columns}, normal(rows * columns, 211));
  const array y = mapped(t, {rows, columns},
                         [&](std::size_t i) { return (v == version::test ? 3 : 1) * std::atan(x[i]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "squash", squash, numdiff::dtypes(dtype::bf16, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd904("ND904", run);

}  // namespace
