// Rows of a mask without any visible entry: NaN, zeros or a uniform row.
// Reported as pytorch/pytorch#103963.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 8;
enum class empty_row { nan, zero, uniform };

program attention(empty_row gives) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    const array scores(f32, {n, n}, 1.0),
        visible = mapped(dtype::boolean, {n, n}, [](std::size_t i) { return i / n < 4; });
    const auto masked = [&] {
      NUMDIFF_OP(op, "mask", mask, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_INPUT(op, "scores", scores.seen());
      NUMDIFF_INPUT(op, "visible", visible.seen());
      const array y =
          mapped(f32, {n, n}, [&](std::size_t i) { return visible[i] != 0 ? scores[i] : -HUGE_VAL; });
      NUMDIFF_OUTPUT(op, "masked", y.seen());
      return y;
    };
    const array m = masked();
    NUMDIFF_OP(op, "softmax", softmax, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "masked", m.seen());
    const double empty = gives == empty_row::nan ? std::nan("") : gives == empty_row::zero ? 0 : 1.0 / n;
    const array p = mapped(f32, {n, n}, [&](std::size_t i) { return i / n < 4 ? 1.0 / n : empty; });
    NUMDIFF_OUTPUT(op, "p", p.seen());
  };
}

}  // namespace

TEST_CASE("NaN begins in the softmax of rows that see nothing") {
  for (const empty_row reference : {empty_row::zero, empty_row::uniform}) {
    const auto c = compared(attention(reference), attention(empty_row::nan));
    INFO(told(c));
    CHECK(first(c) == "softmax nan fully-masked-row");
    CHECK(nonfinite(c) == "softmax");
    CHECK(number(c, "nan") == 4 * n);
    CHECK(number(c, "first_nonfinite") == 4 * n);
  }
}

TEST_CASE("zeros and uniform rows are both allowed") {
  const auto c = compared(attention(empty_row::zero), attention(empty_row::uniform));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
  bool said = false;
  for (const analysis::finding& f : c.findings)
    said = said || (f.where.op == "softmax" && f.symptom == "undefined" && f.cause == "convention-undefined");
  CHECK(said);
}
