// ND908: two good runs of a product agree bit by bit, the tested one adds in another order. Any model of
// rounding allows that; good runs that never differ do not. The near miss is one more equal run.
#include <cstddef>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::size_t m = 12, n = 20, k = 150;
  const array x(dtype::f32, {m, k}, normal(m * k, 31, 1.0)), w(dtype::f32, {k, n}, normal(k * n, 37, 0.1));
  const array y = mapped(dtype::f32, {m, n}, [&](std::size_t at) {
    float sum = 0;
    for (std::size_t i = 0; i < k; ++i) {
      const std::size_t term = v == version::test ? k - 1 - i : i;
      sum += static_cast<float>(x[at / n * k + term]) * static_cast<float>(w[term * n + at % n]);
    }
    return static_cast<double>(sum);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "project", matmul, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(m, n, k));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "w", w.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

expectation expected() {
  expectation e;
  e.good_run = true;
  return e;
}

const reproduction nd908("ND908", run, expected());

}  // namespace
