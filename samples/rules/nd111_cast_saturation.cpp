// ND111: values far beyond E5M2 are cast with saturation: finite, and most of the tensor is gone. In the near
// miss one value stands a little above the maximum.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 8, columns = 15;
  const bool near = v == version::near_miss || v == version::near_miss_reference;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f8e5m2 : dtype::bf16;
  array x(dtype::f32, {rows, columns}, normal(rows * columns, 9, near ? 15000 : 4e5));
  if (near) x.set(40, 70000);
  const array y = x.as(stored);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "cache.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd111("ND111", run, {.own_reference = true});

}  // namespace
