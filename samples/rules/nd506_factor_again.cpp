// ND506: queries are scaled by 1/8, and the scores that are made of them are scaled by 1/8 again. In the near
// miss the scores are off by 1/9, which no earlier op applied.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 17, width = 64;
  const array q(dtype::f32, {tokens, width}, normal(tokens * width, 211)),
      k(dtype::f32, {width, tokens}, normal(tokens * width, 212));
  const array scaled = mapped(dtype::f32, {tokens, width}, [&](std::size_t i) { return q[i] / 8; });
  const double again = v == version::reference ? 1 : v == version::test ? 1.0 / 8 : 1.0 / 9;
  const array scores = mapped(dtype::f32, {tokens, tokens}, [&](std::size_t i) {
    float sum = 0;
    for (std::size_t j = 0; j < width; ++j)
      sum +=
          static_cast<float>(scaled[i / tokens * width + j]) * static_cast<float>(k[j * tokens + i % tokens]);
    return static_cast<double>(sum) * again;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  {
    NUMDIFF_OP(op, "query.scale", scale, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_INPUT(op, "q", q.seen());
    NUMDIFF_SCALAR(op, "factor", 1.0 / 8);
    NUMDIFF_OUTPUT(op, "scaled", scaled.seen());
  }
  NUMDIFF_OP(op, "scores", matmul,
             numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32).mnk(tokens, tokens, width));
  NUMDIFF_INPUT(op, "q", scaled.seen());
  NUMDIFF_INPUT(op, "k", k.seen());
  NUMDIFF_OUTPUT(op, "scores", scores.seen());
}

const reproduction nd506("ND506", run, {.near_miss = "ND505"});

}  // namespace
