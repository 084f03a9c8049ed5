// ND306: a kernel multiplies by the decode scale where it should divide. The near miss divides, by one and a
// half times the scale.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 8, columns = 33;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 73, 200));
  std::vector<float> scales(rows, 0);
  for (std::size_t i = 0; i < x.size(); ++i)
    scales[i / columns] = std::max(scales[i / columns], static_cast<float>(std::abs(x[i]) / 127));
  const array y = mapped(dtype::i8, {rows, columns}, [&](std::size_t i) {
    const auto s = static_cast<double>(scales[i / columns]);
    return v == version::test ? x[i] * s : x[i] / (v == version::near_miss ? 1.5 * s : s);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "inputs.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::i8));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(numdiff::scale_per_row(scales.data())));
}

const reproduction nd306("ND306", run, {.near_miss = "ND305"});

}  // namespace
