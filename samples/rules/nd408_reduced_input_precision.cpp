// ND408: a gated unit of fp32 tensors first rounds what it reads to tf32. The near miss reads fp32 and
// computes the sigmoid by way of tanh.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 18, width = 56;
  const array gate(dtype::f32, {tokens, width}, normal(tokens * width, 91)),
      up(dtype::f32, {tokens, width}, normal(tokens * width, 92));
  const array y = mapped(dtype::f32, {tokens, width}, [&](std::size_t i) {
    const dtype read = v == version::test ? dtype::tf32 : dtype::f32;
    const auto g = static_cast<float>(rounded(read, gate[i])), u = static_cast<float>(rounded(read, up[i]));
    const float sigmoid = v == version::near_miss ? 0.5F * (1 + std::tanh(0.5F * g)) : 1 / (1 + std::exp(-g));
    return static_cast<double>(g * sigmoid * u);
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "mlp.act", swiglu, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "gate", gate.seen());
  NUMDIFF_INPUT(op, "up", up.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd408("ND408", run);

}  // namespace
