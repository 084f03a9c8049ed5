// An fp32 product by the identity, whose inputs the matrix unit rounds to TF32.
// Reported as pytorch/pytorch#53635.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t rows = 64;

program product(dtype inputs) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    std::vector<double> raw = normal(rows, 3, 700);
    raw[0] = 1024.5;
    raw[1] = 3.14;
    const array x(f32, {rows, 1}, raw), one(f32, {1, 1}, 1.0);
    NUMDIFF_OP(op, "matmul", matmul, numdiff::dtypes(f32, f32, f32).mnk(rows, 1, 1));
    NUMDIFF_INPUT(op, "x", x.seen());
    NUMDIFF_WEIGHT(op, "one", one.seen());
    const array y = mapped(f32, {rows, 1}, [&](std::size_t i) { return rounded(inputs, x[i]); });
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

}  // namespace

TEST_CASE("rounded inputs are told from another order of one product") {
  for (const dtype inputs : {dtype::tf32, dtype::bf16}) {
    const auto c = compared(product(dtype::f32), product(inputs));
    INFO(told(c));
    CHECK(first(c) == "matmul mismatch reduced-input-precision");
  }
}
