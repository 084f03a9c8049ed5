// ND103: a residual stream in fp32 is stored in fp16, and its outlier channel is larger than fp16 can be. In
// the near miss the outliers stay just below the maximum.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 12, width = 40;
  const bool fits = v == version::near_miss || v == version::near_miss_reference;
  const double outlier = fits ? 65000 : 70000;
  array x(dtype::f32, {tokens, width}, normal(tokens * width, 3));
  for (std::size_t t = 0; t < tokens; ++t) x.set(t * width + 17, t % 2 == 0 ? outlier : -outlier);
  const bool wide = v == version::reference || v == version::near_miss_reference;
  const dtype stored = wide ? dtype::bf16 : dtype::f16;
  const array y = x.as(stored);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "residual.store", cast, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_CAST(op, "y", x.seen(), y.seen());
}

const reproduction nd103("ND103", run, {.own_reference = true});

}  // namespace
