// ND107: the epsilon of an inverse root is a fp16 constant and becomes zero. The near miss has an epsilon
// that fp16 holds with an error of its rounding.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t n = 31;
  const bool low = v == version::test || v == version::near_miss;
  const bool holds = v == version::near_miss || v == version::near_miss_reference;
  const array x = mapped(dtype::f32, {n}, [](std::size_t i) { return 0.25 + static_cast<double>(i); });
  const array eps(low ? dtype::f16 : dtype::f32, {}, holds ? 1e-4 : 1e-9);
  const array y = mapped(dtype::f32, {n}, [&](std::size_t i) { return 1 / std::sqrt(x[i] + eps[0]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "inverse.rms", reciprocal_square_root, numdiff::dtypes(dtype::f32, eps.type(), dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  op.capture(numdiff::role::scalar, "eps", eps.seen());  // in its own format
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd107("ND107", run, {.near_miss = "ND802", .own_reference = true});

}  // namespace
