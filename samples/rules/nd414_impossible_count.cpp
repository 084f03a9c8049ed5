// ND414: how many entries of a row equal its maximum, when the maximum was rounded to fp16 and the entries
// were not: none. The near miss rounds neither.
#include <algorithm>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 22, width = 33;
  const array x(dtype::f32, {rows, width}, normal(rows * width, 151));
  const dtype kept = v == version::test ? dtype::f16 : v == version::near_miss ? dtype::f64 : dtype::f32;
  const array top = mapped(kept, {rows}, [&](std::size_t row) {
    double most = x[row * width];
    for (std::size_t i = 1; i < width; ++i) most = std::max(most, x[row * width + i]);
    return most;
  });
  const array count = mapped(dtype::f32, {rows}, [&](std::size_t row) {
    double ties = 0;
    for (std::size_t i = 0; i < width; ++i) ties += x[row * width + i] == top[row] ? 1 : 0;
    return ties;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "pool.ties", maximum_count, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "top", top.seen());
  NUMDIFF_OUTPUT(op, "count", count.seen());
}

const reproduction nd414("ND414", run);

}  // namespace
