// Two masks of the most negative number are added: where both hide, the sum is minus infinity.
// Reported as huggingface/transformers#27114.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 4;
constexpr double lowest = -65504;

bool hidden_by_order(std::size_t i) {
  return i % n > i / n;
}
bool hidden_by_padding(std::size_t i) {
  return i % n < 2;
}

program attention(dtype t, bool adds) {
  return [=](session&, std::int32_t) {
    const array scores(t, {n, n}, -17.0);
    const array causal = mapped(t, {n, n}, [](std::size_t i) { return hidden_by_order(i) ? lowest : 0; });
    const array padding = mapped(t, {n, n}, [](std::size_t i) { return hidden_by_padding(i) ? lowest : 0; });
    const auto masked = [&] {
      NUMDIFF_OP(op, "mask add", add, numdiff::dtypes(t, t, t));
      NUMDIFF_INPUT(op, "scores", scores.seen());
      NUMDIFF_INPUT(op, "causal", causal.seen());
      NUMDIFF_INPUT(op, "padding", padding.seen());
      const array y = mapped(t, {n, n}, [&](std::size_t i) {
        if (!adds) return rounded(t, scores[i] + std::fmin(causal[i], padding[i]));
        return rounded(t, rounded(t, scores[i] + causal[i]) + padding[i]);
      });
      NUMDIFF_OUTPUT(op, "masked", y.seen());
      return y;
    };
    const array m = masked();
    NUMDIFF_OP(op, "softmax", softmax, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_INPUT(op, "masked", m.seen());
    const array p = mapped(t, {n, n}, [&](std::size_t i) {
      const std::size_t row = i / n * n;
      double top = -HUGE_VAL, total = 0;
      for (std::size_t k = row; k < row + n; ++k) top = std::fmax(top, m[k]);
      for (std::size_t k = row; k < row + n; ++k) total += std::exp(m[k] - top);
      return std::exp(m[i] - top) / total;
    });
    NUMDIFF_OUTPUT(op, "p", p.seen());
  };
}

}  // namespace

TEST_CASE("the addition of the masks overflows, not the scores and not the softmax") {
  const auto c = compared(attention(dtype::f32, true), attention(dtype::f16, true));
  INFO(told(c));
  CHECK(first(c) == "mask add overflow mask-add-overflow");
  CHECK(nonfinite(c) == "mask add");
  CHECK(c.roots.size() == 1);
}
