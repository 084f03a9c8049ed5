// ND407: a product of fp16 numbers of both signs is added up in fp16, while the op says fp32. The near miss
// adds in fp32, in sixteen running sums from the back.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t m = 10, n = 22, k = 260;
  constexpr std::size_t lanes = 16;
  const array a(dtype::f16, {m, k}, normal(m * k, 71)), b(dtype::f16, {k, n}, normal(k * n, 72));
  const array c = mapped(dtype::f16, {m, n}, [&](std::size_t i) {
    const dtype running = v == version::test ? dtype::f16 : dtype::f32;
    double lane[lanes] = {};
    for (std::size_t q = 0; q < k; ++q) {
      const std::size_t at = v == version::near_miss ? k - 1 - q : q;
      double& sum = lane[v == version::near_miss ? q % lanes : 0];
      sum = rounded(running, sum + a[i / n * k + at] * b[at * n + i % n]);
    }
    double sum = 0;
    for (const double x : lane) sum = rounded(running, sum + x);
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "router.logits", matmul, numdiff::dtypes(dtype::f16, dtype::f32, dtype::f16).mnk(m, n, k));
  NUMDIFF_INPUT(op, "x", a.seen());
  NUMDIFF_WEIGHT(op, "w", b.seen());
  NUMDIFF_OUTPUT(op, "logits", c.seen());
}

const reproduction nd407("ND407", run);

}  // namespace
