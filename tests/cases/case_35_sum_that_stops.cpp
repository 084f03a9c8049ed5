// A sum of ones in bf16 stops at 256, where one more is half an ulp.
// Reported as pytorch/pytorch#92164.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t count = 5120;

// `running`: what the running sum is kept in. `declared`: what the op says of it.
program norm(dtype t, dtype running, dtype declared) {
  return [=](session&, std::int32_t) {
    const array ones(t, {count}, 1.0);
    NUMDIFF_OP(op, "reduction", sum,
               numdiff::dtypes(t, declared, t).reduction(count).order(reduction_order::sequential));
    NUMDIFF_INPUT(op, "squares", ones.seen());
    double total = 0;
    for (const double v : ones.values()) total = rounded(running, total + v);
    const array y(t, {1}, total);
    NUMDIFF_OUTPUT(op, "sum", y.seen());
  };
}

}  // namespace

TEST_CASE("a running sum that stops growing is named, whether its format is told or not") {
  for (const dtype declared : {dtype::bf16, dtype::f32}) {
    const auto c =
        compared(norm(dtype::f32, dtype::f32, dtype::f32), norm(dtype::bf16, dtype::bf16, declared));
    INFO(name_of(declared) << ": " << told(c));
    CHECK(first(c) == "reduction bias low-precision-accumulate");
    CHECK(nonfinite(c) == "none");
  }
}

TEST_CASE("the same sum in fp32 agrees") {
  const auto c =
      compared(norm(dtype::f32, dtype::f32, dtype::f32), norm(dtype::bf16, dtype::f32, dtype::f32));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
