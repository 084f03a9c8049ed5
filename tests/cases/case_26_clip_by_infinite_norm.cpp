// The norm for clipping is formed in fp16: a square overflows and every gradient becomes zero.
// Reported as tracel-ai/burn#5699.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program clipped(dtype t) {
  return [=](session&, std::int32_t) {
    NUMDIFF_PHASE(optimizer);
    const array g(t, {2}, {300, 3});
    const auto squares = [&] {
      NUMDIFF_OP(op, "square", square, numdiff::dtypes(t, dtype::f32, t));
      NUMDIFF_INPUT(op, "g", g.seen());
      const array s = mapped(t, {2}, [&](std::size_t i) { return g[i] * g[i]; });
      NUMDIFF_OUTPUT(op, "squares", s.seen());
      return s;
    };
    const array s = squares();
    const auto added = [&] {
      NUMDIFF_OP(op, "sum", sum, numdiff::dtypes(t, dtype::f32, t).reduction(2));
      NUMDIFF_INPUT(op, "squares", s.seen());
      const array y(t, {1}, s[0] + s[1]);
      NUMDIFF_OUTPUT(op, "sum", y.seen());
      return y;
    };
    const array total = added();
    const auto rooted = [&] {
      NUMDIFF_OP(op, "norm", square_root, numdiff::dtypes(t, dtype::f32, t));
      NUMDIFF_INPUT(op, "sum", total.seen());
      const array y(t, {1}, std::sqrt(total[0]));
      NUMDIFF_OUTPUT(op, "norm", y.seen());
      return y;
    };
    const array norm = rooted();
    NUMDIFF_OP(op, "clip", clip_by_norm, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "g", g.seen());
    NUMDIFF_INPUT(op, "norm", norm.seen());
    NUMDIFF_SCALAR(op, "max_norm", 1.0);
    const array y = mapped(t, {2}, [&](std::size_t i) { return g[i] * std::fmin(1, 1 / norm[0]); });
    NUMDIFF_OUTPUT(op, "clipped", y.seen());
  };
}

}  // namespace

TEST_CASE("the square overflows, the clipped gradients only show zeros") {
  const auto c = compared(clipped(dtype::f32), clipped(dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "square overflow op-overflow");
  CHECK(nonfinite(c) == "square");
  CHECK(lost(c).find("clip overflow") != std::string::npos);
}
