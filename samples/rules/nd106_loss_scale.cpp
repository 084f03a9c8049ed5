// ND106: gradients through a layer of small weights are stored in fp16 without a loss scale. The near miss
// has a loss scale of 65536 and says so.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 9, out = 6, in = 14;
  const double loss_scale = v == version::near_miss ? 65536 : 1;
  const dtype stored = v == version::reference ? dtype::f32 : dtype::f16;
  const std::vector<double> g = normal(tokens * out, 5, 2e-5);
  const array dy = mapped(dtype::f32, {tokens, out}, [&](std::size_t i) { return g[i] * loss_scale; });
  const array w(dtype::f32, {out, in}, normal(out * in, 6, 3e-4));
  const array dx = mapped(stored, {tokens, in}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < out; ++k) sum += dy[i / in * out + k] * w[k * in + i % in];
    return sum;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_FACTOR("loss_scale", loss_scale);
  NUMDIFF_OP(op, "proj.grad", matmul, numdiff::dtypes(dtype::f32, dtype::f32, stored).mnk(tokens, in, out));
  NUMDIFF_INPUT(op, "dy", dy.seen().carries_factors());
  NUMDIFF_WEIGHT(op, "w", w.seen());
  NUMDIFF_GRADIENT(op, "dx", dx.seen());
}

const reproduction nd106("ND106", run);

}  // namespace
