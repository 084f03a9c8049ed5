// Relative errors where the reference is zero.
// Reported as numpy/numpy#13801.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program holds(std::vector<double> values) {
  return [values](session&, std::int32_t) {
    const array x(dtype::f64, {static_cast<std::int64_t>(values.size())}, values);
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::f64, dtype::f64, dtype::f64));
    NUMDIFF_INPUT(op, "x", x.seen());
  };
}

}  // namespace

TEST_CASE("zero against zero is no error, and no NaN") {
  const auto c = compared(holds({0, 2}), holds({0, 1}));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(number(c, "worst_relative") == 0.5);
}

TEST_CASE("a number against zero is counted apart, with its size") {
  const auto c = compared(holds({0, 2}), holds({1e-8, 1}));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(number(c, "against_zero") == 1);
  CHECK(number(c, "worst_relative") == 0.5);
}

TEST_CASE("infinity in either run is found") {
  const double inf = HUGE_VAL;
  for (const bool in_reference : {true, false}) {
    const auto c = compared(holds({in_reference ? inf : 1, 2}), holds({in_reference ? 1 : inf, 2}));
    INFO(told(c));
    CHECK(c.verdict == analysis::outcome::differ);
    CHECK(number(c, "inf_mismatch") == 1);
  }
}
