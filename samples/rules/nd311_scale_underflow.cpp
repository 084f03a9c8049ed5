// ND311: the decode scales of small rows are kept in fp16 and become zero. The near miss keeps them in bf16.
#include <algorithm>
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 4, columns = 30;
  const array x(dtype::f32, {rows, columns}, normal(rows * columns, 47, 2e-6));
  const dtype kept = v == version::test ? dtype::f16 : v == version::near_miss ? dtype::bf16 : dtype::f32;
  std::vector<double> amax(rows, 0);
  for (std::size_t i = 0; i < x.size(); ++i) amax[i / columns] = std::max(amax[i / columns], std::abs(x[i]));
  const array scales = mapped(kept, {rows}, [&](std::size_t r) { return amax[r] / 440; });
  const array y =
      mapped(dtype::f8e4m3fn, {rows, columns}, [&](std::size_t i) { return x[i] / scales[i / columns]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "deltas.quantize", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "x", x.seen());
  const numdiff::scaling by_row(numdiff::granularity::row, scales.data(), kept);
  NUMDIFF_CAST(op, "y", x.seen(), y.seen().scaled(by_row));
}

const reproduction nd311("ND311", run);

}  // namespace
