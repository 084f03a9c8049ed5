// ND190: a gradient overflows in fp16 under a loss scale that is too high, and the optimizer leaves the step
// out. The near miss does not leave it out.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 4, width = 18;
  const dtype stored = v == version::reference ? dtype::f32 : dtype::f16;
  const array dy(dtype::f32, {tokens, width}, normal(tokens * width, 41, 60000));
  const array dx = dy.as(stored);
  NUMDIFF_STEP(0);
  {
    NUMDIFF_PHASE(backward);
    NUMDIFF_OP(op, "gradient.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
    NUMDIFF_INPUT(op, "dy", dy.seen());
    NUMDIFF_CAST(op, "dx", dy.seen(), dx.seen());
  }
  if (v == version::test) NUMDIFF_SKIP_STEP();
}

const reproduction nd190("ND190", run, {.near_miss = "ND103", .found_in = "findings"});

}  // namespace
