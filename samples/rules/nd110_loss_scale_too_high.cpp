// ND110: gradients of ordinary size are stored in fp16 under a loss scale of 2^20. In the near miss the
// gradients themselves are too large.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 6, width = 21;
  const bool large = v == version::near_miss || v == version::near_miss_reference;
  const bool low = v == version::test || v == version::near_miss;
  const double loss_scale = low ? (large ? 4 : 0x1p20) : 1;
  const std::vector<double> g = normal(tokens * width, 17, large ? 1e5 : 0.25);
  const array dy = mapped(dtype::f32, {tokens, width}, [&](std::size_t i) { return g[i] * loss_scale; });
  const array x(dtype::f32, {tokens, width}, normal(tokens * width, 18));
  const array dx =
      mapped(low ? dtype::f16 : dtype::f32, {tokens, width}, [&](std::size_t i) { return dy[i] * x[i]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_FACTOR("loss_scale", loss_scale);
  NUMDIFF_OP(op, "gain.grad", multiply, numdiff::dtypes(dtype::f32, dtype::f32, dx.type()));
  NUMDIFF_INPUT(op, "dy", dy.seen().carries_factors());
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_GRADIENT(op, "dx", dx.seen());
}

const reproduction nd110("ND110", run, {.near_miss = "ND104", .own_reference = true});

}  // namespace
