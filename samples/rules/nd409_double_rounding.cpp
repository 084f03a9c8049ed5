// ND409: fp64 statistics become fp16 by way of bf16, which has fewer bits than fp16. In the near miss the
// format in between is fp32, which has enough.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 34, columns = 27;
  const array x(dtype::f64, {rows, columns}, normal(rows * columns, 101, 20));
  const dtype between = v == version::reference ? dtype::f64 : v == version::test ? dtype::bf16 : dtype::f32;
  const array y = x.as(between).as(dtype::f16);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(evaluation);
  NUMDIFF_OP(op, "statistics.store", cast, numdiff::dtypes(dtype::f64, dtype::f64, dtype::f16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd409("ND409", run);

}  // namespace
