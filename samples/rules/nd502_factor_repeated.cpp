// ND502: a product applies its alpha before and after it adds up. The near miss applies the square root of
// alpha before and after.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t m = 21, n = 13, k = 96;
  const double alpha = 0.35;
  const array a(dtype::f32, {m, k}, normal(m * k, 171)), b(dtype::f32, {k, n}, normal(k * n, 172));
  const double before = v == version::reference ? 1 : v == version::test ? alpha : std::sqrt(alpha);
  const double after = v == version::near_miss ? std::sqrt(alpha) : alpha;
  const array c = mapped(dtype::f32, {m, n}, [&](std::size_t i) {
    float sum = 0;
    for (std::size_t q = 0; q < k; ++q)
      sum += static_cast<float>(before) * static_cast<float>(a[i / n * k + q]) *
             static_cast<float>(b[q * n + i % n]);
    return static_cast<double>(static_cast<float>(after) * sum);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "adapter.merge", matmul, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(m, n, k));
  NUMDIFF_INPUT(op, "a", a.seen());
  NUMDIFF_WEIGHT(op, "b", b.seen());
  NUMDIFF_SCALAR(op, "alpha", alpha);
  NUMDIFF_OUTPUT(op, "c", c.seen());
}

const reproduction nd502("ND502", run);

}  // namespace
