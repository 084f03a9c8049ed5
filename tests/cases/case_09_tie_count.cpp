// A fused kernel compares unrounded values with a rounded maximum and finds no element that equals it.
// Reported as pytorch/pytorch#195214. The reference is bf16 as well; the more precise copy is the faulty one.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 64;

program tie_share(bool fused) {
  return [=](session&, std::int32_t) {
    const dtype t = dtype::bf16, f32 = dtype::f32;
    const array x(t, {1, n}, normal(n, 4)), c(f32, {1}, std::sqrt(128.0));
    const array wide = mapped(f32, {1, n}, [&](std::size_t i) { return x[i] / c[0]; });
    const array narrow = wide.as(t);
    const array& kept = fused ? wide : narrow;
    const auto scaled = [&] {
      NUMDIFF_OP(op, "ratio", divide, numdiff::dtypes(t, f32, kept.type()));
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_INPUT(op, "c", c.seen());
      NUMDIFF_OUTPUT(op, "ratio", kept.seen());
      return 0;
    };
    scaled();
    if (fused) {
      NUMDIFF_OP(op, "narrow", cast, numdiff::dtypes(f32, f32, t));
      NUMDIFF_INPUT(op, "ratio", wide.seen());
      NUMDIFF_CAST(op, "rounded", wide.seen(), narrow.seen());
    }
    const auto largest = [&] {
      NUMDIFF_OP(op, "largest", maximum, numdiff::dtypes(t, f32, t));
      NUMDIFF_INPUT(op, "ratio", narrow.seen());
      double best = -HUGE_VAL;
      for (const double v : narrow.values()) best = std::fmax(best, v);
      const array m(t, {1}, best);
      NUMDIFF_OUTPUT(op, "max", m.seen());
      return m;
    };
    const array top = largest();
    const auto counted = [&] {
      NUMDIFF_OP(op, "count", maximum_count, numdiff::dtypes(t, f32, f32));
      NUMDIFF_INPUT(op, "ratio", kept.seen());
      NUMDIFF_INPUT(op, "max", top.seen());
      double ties = 0;
      for (const double v : kept.values()) ties += v == top[0];
      const array y(f32, {1}, ties);
      NUMDIFF_OUTPUT(op, "ties", y.seen());
      return y;
    };
    const array ties = counted();
    NUMDIFF_OP(op, "division", divide, numdiff::dtypes(f32, f32, f32));
    const array one(f32, {1}, 1.0);
    NUMDIFF_INPUT(op, "one", one.seen());
    NUMDIFF_INPUT(op, "ties", ties.seen());
    const array y(f32, {1}, 1 / ties[0]);
    NUMDIFF_OUTPUT(op, "share", y.seen());
  };
}

}  // namespace

TEST_CASE("a count of maxima that is zero is impossible, whatever the precision") {
  const auto c = compared(tie_share(false), tie_share(true));
  INFO(told(c));
  CHECK(first(c) == "count invariant rounding-order");
  CHECK(nonfinite(c) == "division");
}

TEST_CASE("the division by a count of zero overflows nothing") {
  const auto c = compared(tie_share(false), tie_share(true));
  INFO(told(c));
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->symptom == "inf");
  CHECK(c.nonfinite_origin->cause == "open");
}
