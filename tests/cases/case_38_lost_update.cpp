// Weights in bf16 without a wider copy: every step is below half an ulp.
// Reported as NVIDIA/apex#1728.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 64;

program step(dtype t, double size) {
  return [=](session&, std::int32_t) {
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(optimizer);
    const array w(t, {n}, 1.0), g = array(dtype::bf16, {n}, size).as(t);
    NUMDIFF_OP(op, "weight write-back", subtract, numdiff::dtypes(t, dtype::f32, t));
    NUMDIFF_STATE(op, "w", w.seen());
    NUMDIFF_INPUT(op, "step", g.seen());
    const array updated = mapped(t, {n}, [&](std::size_t i) { return w[i] - g[i]; });
    NUMDIFF_STATE(op, "w.new", updated.seen());
  };
}

}  // namespace

TEST_CASE("steps that change nothing are lost, and their size is not zero") {
  const auto c = compared(step(dtype::f32, 6e-4), step(dtype::bf16, 6e-4));
  INFO(told(c));
  CHECK(first(c) == "weight write-back lost-update lost-update");
  CHECK(number(c, "unchanged") == n);
}

TEST_CASE("steps of an ulp arrive") {
  const auto c = compared(step(dtype::f32, 0x1p-7), step(dtype::bf16, 0x1p-7));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
