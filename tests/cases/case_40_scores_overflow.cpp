// Attention scores are stored in fp16 before they are scaled.
// Reported as huggingface/transformers#30199.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t tokens = 2, width = 64;

program attention(dtype t) {
  return [=](session&, std::int32_t) {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(forward);
    const array q(t, {tokens, width}, 40.0), k(t, {width, tokens}, 40.0);
    const auto product = [&] {
      NUMDIFF_OP(op, "QK product", matmul, numdiff::dtypes(t, dtype::f32, t).mnk(tokens, tokens, width));
      NUMDIFF_INPUT(op, "q", q.seen());
      NUMDIFF_INPUT(op, "k", k.seen());
      const array s(t, {tokens, tokens}, 40.0 * 40 * width);
      NUMDIFF_OUTPUT(op, "scores", s.seen());
      return s;
    };
    const array s = product();
    NUMDIFF_OP(op, "softmax", softmax, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "scores", s.seen());
    NUMDIFF_SCALAR(op, "scale", 0.125);
    const array p =
        mapped(t, {tokens, tokens}, [&](std::size_t i) { return std::isinf(s[i]) ? std::nan("") : 0.5; });
    NUMDIFF_OUTPUT(op, "p", p.seen());
  };
}

}  // namespace

TEST_CASE("the product's output overflows, the softmax makes NaN of it") {
  const auto c = compared(attention(dtype::f32), attention(dtype::f16));
  INFO(told(c));
  CHECK(first(c) == "QK product overflow score-overflow");
  CHECK(nonfinite(c) == "QK product");
}
