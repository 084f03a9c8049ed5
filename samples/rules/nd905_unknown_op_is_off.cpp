// ND905: an op of its own kind reads the same in both runs and writes something else. In the near miss what
// it reads differs as well, and nothing bounds what such an op makes of that.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 19, columns = 27;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array x(t, {rows, columns}, normal(rows * columns, 221, 4));
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    return std::sin(16 * x[i]) + (v == version::test && i % columns == 5 ? 0.25 : 0);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "fold", fold, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd905("ND905", run);

}  // namespace
