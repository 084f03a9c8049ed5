// ND801: the test begins with weights of another seed. In the near miss they are the reference's, rounded to
// its format.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 14, inner = 22, columns = 18;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::bf16;
  const array x(t, {rows, inner}, normal(rows * inner, 111));
  const array w(t, {inner, columns}, normal(inner * columns, v == version::test ? 113 : 112, 0.2));
  const array y = mapped(t, {rows, columns}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < inner; ++k) sum += x[i / columns * inner + k] * w[k * columns + i % columns];
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "proj", matmul, numdiff::dtypes(t, dtype::f32, t).mnk(rows, columns, inner));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "w", w.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd801("ND801", run);

}  // namespace
