// ND197: a norm is infinite, and dividing by it makes zeros: the infinity is gone, and so are the values. In
// the near miss the infinity stays visible.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 5, columns = 16;
  const bool passes = v == version::near_miss || v == version::near_miss_reference;
  const array x(dtype::f16, {rows, columns}, normal(rows * columns, 91));
  const array norm = mapped(dtype::f16, {rows, 1}, [](std::size_t r) { return r == 2 ? HUGE_VAL : 4.0; });
  const array y = mapped(dtype::f16, {rows, columns}, [&](std::size_t i) {
    return passes ? x[i] * norm[i / columns] : x[i] / norm[i / columns];
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  const numdiff::op op("rows.normalize", passes ? "multiply" : "divide",
                       numdiff::dtypes(dtype::f16, dtype::f32, dtype::f16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "norm", norm.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd197("ND197", run, {.found_in = "information_lost", .own_reference = true});

}  // namespace
