// Products of unsigned and signed bytes are added in pairs in 16 bits that saturate.
// Reported as pytorch/pytorch#44939.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t rows = 4, depth = 2, columns = 2;

program product(bool saturates) {
  return [=](session&, std::int32_t) {
    const array a(dtype::u8, {rows, depth}, {211, 171, 255, 255, 10, 20, 128, 250});
    const array w(dtype::i8, {depth, columns}, {71, 113, 107, 113});
    NUMDIFF_OP(op, "int8 product", matmul,
               numdiff::dtypes(dtype::u8, dtype::i8, dtype::i32, dtype::i32).mnk(rows, columns, depth));
    NUMDIFF_INPUT(op, "a", a.seen());
    NUMDIFF_WEIGHT(op, "w", w.seen());
    const array y = mapped(dtype::i32, {rows, columns}, [&](std::size_t i) {
      const double pair = a[i / 2 * 2] * w[i % 2] + a[i / 2 * 2 + 1] * w[2 + i % 2];
      return saturates ? std::fmax(-32768, std::fmin(32767, pair)) : pair;
    });
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

}  // namespace

TEST_CASE("the accumulator saturates, no output code does") {
  const auto c = compared(product(false), product(true));
  INFO(told(c));
  CHECK(first(c) == "int8 product saturation accumulator-overflow");
}
