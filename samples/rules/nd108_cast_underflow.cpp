// ND108: a tensor of small values is cast to fp16 unscaled, and most of it becomes zero. In the near miss the
// few values that carry the tensor stay, and the small ones do no harm.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 10, columns = 26;
  const bool mixed = v == version::near_miss || v == version::near_miss_reference;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f16 : dtype::bf16;
  array x(dtype::f32, {rows, columns}, normal(rows * columns, 11, 1.5e-8));
  for (std::size_t i = 0; mixed && i < rows * columns; i += 13) x.set(i, 0.5 + static_cast<double>(i) / 1000);
  const array y = x.as(stored);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "moments.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd108("ND108", run, {.own_reference = true});

}  // namespace
