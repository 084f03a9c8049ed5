// ND702: one element of an activation changes between the op that writes it and the op that reads it. In the
// near miss all elements do, by a cast to bf16 that nobody captured.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 15, columns = 34;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::test ? dtype::f16 : dtype::f32;
  const dtype later = v == version::near_miss ? dtype::bf16 : t;
  const array x(t, {rows, columns}, normal(rows * columns, 81));
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) { return x[i] / (1 + std::exp(-x[i])); });
  array read = y.as(later);
  if (v == version::test) read.set(217, 4 * read[217]);  // a bit of its exponent
  const array z = mapped(later, {rows, columns}, [&](std::size_t i) { return read[i] * read[i]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  {
    NUMDIFF_OP(op, "act", silu, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_OUTPUT(op, "y", y.seen());
  }
  NUMDIFF_OP(op, "energy", square, numdiff::dtypes(later, dtype::f32, later));
  NUMDIFF_INPUT(op, "x", read.seen());
  NUMDIFF_OUTPUT(op, "y", z.seen());
}

const reproduction nd702("ND702", run);

}  // namespace
