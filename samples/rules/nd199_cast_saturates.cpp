// ND199: a saturating cast cuts two values at the maximum of E4M3. The near miss stays below it.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 9, columns = 14;
  const bool near = v == version::near_miss || v == version::near_miss_reference;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f8e4m3fn : dtype::bf16;
  array x(dtype::f32, {rows, columns}, normal(rows * columns, 51, 90));
  x.set(20, near ? 440 : 500);
  x.set(99, near ? -430 : -520);
  const array y = x.as(stored);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "keys.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd199("ND199", run, {.found_in = "information_lost", .own_reference = true});

}  // namespace
