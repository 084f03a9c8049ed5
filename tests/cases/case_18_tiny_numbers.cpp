// Numbers of 1e-20 that differ by a factor of two, below any fixed absolute tolerance.
// Reported as HDFGroup/hdf5#5570.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program holds(double value) {
  return [=](session&, std::int32_t) {
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::f64, dtype::f64, dtype::f64));
    const array x(dtype::f64, {1}, value);
    NUMDIFF_INPUT(op, "x", x.seen());
  };
}

// More elements than level sketch keeps values of; every third is `factor` times as large in one run.
program many(double size, double factor) {
  return [=](session&, std::int32_t) {
    std::vector<double> raw = normal(400, 5, size);
    for (std::size_t i = 0; i < raw.size(); i += 3) raw[i] *= factor;
    const array x(dtype::f64, {20, 20}, raw);
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::f64, dtype::f64, dtype::f64));
    NUMDIFF_OUTPUT(op, "x", x.seen());
  };
}

}  // namespace

TEST_CASE("tiny numbers are compared like all others") {
  const auto once = compared(holds(1), holds(2));
  CHECK(once.verdict == analysis::outcome::differ);
  for (const double size : {1e-20, 1e-16, 3e-16, 1e-300}) {
    const auto c = compared(holds(size), holds(2 * size));
    INFO(told(c));
    CHECK(c.verdict == analysis::outcome::differ);
    CHECK(number(c, "worst_relative") == doctest::Approx(1.0));
    CHECK(number(c, "elements_different") == 1);
  }
  CHECK(compared(holds(-1e-20), holds(1e-20)).verdict == analysis::outcome::differ);
  // The first run is the denominator.
  CHECK(number(compared(holds(2), holds(1)), "worst_relative") == doctest::Approx(0.5));
}

TEST_CASE("sketches of numbers whose squares no double holds") {
  for (const double size : {1e-310, 1e-200, 1e200, 1e300}) {
    const auto c = compared(many(size, 1), many(size, 2));
    INFO(size << "; " << told(c));
    CHECK(c.verdict == analysis::outcome::differ);
  }
}
