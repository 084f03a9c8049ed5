// ND806: two candidates lie closer together than fp16 can tell, and the test takes the other one. In the near
// miss it takes one that is smaller by what it reads itself.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

constexpr std::int64_t rows = 13, classes = 29;

void run(version v, numdiff::session&, std::int32_t) {
  const dtype t = v == version::reference ? dtype::f32 : dtype::f16;
  array exact(dtype::f32, {rows, classes}, normal(rows * classes, 161));
  exact.set(4 * classes + 9, 3.5001);  // a tie in fp16
  exact.set(4 * classes + 2, 3.5002);
  const array x = exact.as(t);
  array y = mapped(dtype::i64, {rows}, [&](std::size_t r) {
    std::size_t best = classes - 1;  // the last one of equals
    for (std::size_t i = classes; i-- > 0;)
      if (x[r * classes + i] > x[r * classes + best]) best = i;
    return static_cast<double>(best);
  });
  if (v == version::near_miss) y.set(7, static_cast<double>((static_cast<std::size_t>(y[7]) + 1) % classes));
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(evaluation);
  NUMDIFF_OP(op, "predict", argmax, numdiff::dtypes(t, t, dtype::i64));
  NUMDIFF_INPUT(op, "logits", x.seen());
  NUMDIFF_OUTPUT(op, "class", y.seen());
}

const reproduction nd806("ND806", run, {.near_miss = "ND903", .found_in = "findings"});

}  // namespace
