// Two masks of the most negative number are added: where both hide, the sum is minus infinity.
// Reported as huggingface/transformers#27114.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"
#include "numdiff/format.hpp"

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

double lowest_of(dtype t) {
  return -numdiff::format_of(t).max_finite();
}

// Every format with its own most negative number, in a batch; the masks meet before they reach the scores.
program masks_first(dtype t, bool adds) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t batch = 3, heads = 2, length = 13;
    const double fill = lowest_of(t);
    const array causal =
        mapped(t, {length, length}, [&](std::size_t i) { return i % length > i / length ? fill : 0; });
    const array padding = mapped(t, {batch, 1, 1, length},
                                 [&](std::size_t i) { return i / length == 1 && i % length < 4 ? fill : 0; });
    const auto both = [&] {
      NUMDIFF_OP(op, "combine", add, numdiff::dtypes(t, t, t));
      NUMDIFF_INPUT(op, "causal", causal.seen());
      NUMDIFF_INPUT(op, "padding", padding.seen());
      const array y = mapped(t, {batch, 1, length, length}, [&](std::size_t i) {
        const double a = causal[i % (length * length)],
                     b = padding[i / (length * length) * length + i % length];
        return adds ? a + b : std::fmin(a, b);
      });
      NUMDIFF_OUTPUT(op, "mask", y.seen());
      return y;
    };
    const array mask = both(), scores = array(dtype::bf16, {batch, heads, length, length},
                                              normal(batch * heads * length * length, 7, 3))
                                            .as(t);
    NUMDIFF_OP(op, "apply", add, numdiff::dtypes(t, t, t));
    NUMDIFF_INPUT(op, "scores", scores.seen());
    NUMDIFF_INPUT(op, "mask", mask.seen());
    const array y = mapped(t, {batch, heads, length, length}, [&](std::size_t i) {
      const std::size_t square = length * length;
      return scores[i] + mask[i / (heads * square) * square + i % square];
    });
    NUMDIFF_OUTPUT(op, "masked", y.seen());
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

TEST_CASE("masks of each format's own most negative number are the same mask") {
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    const auto c = compared(masks_first(dtype::f32, false), masks_first(t, false));
    INFO(name_of(t) << "; " << told(c));
    CHECK(c.verdict == analysis::outcome::agree);
  }
}

TEST_CASE("masks of a batch that overflow before they reach the scores") {
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    const auto c = compared(masks_first(dtype::f32, false), masks_first(t, true));
    INFO(name_of(t) << "; " << told(c));
    CHECK(first(c) == "combine overflow mask-add-overflow");
    CHECK(nonfinite(c) == "combine");
  }
}
