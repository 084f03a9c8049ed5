// NaN in one run or in both must neither hide a difference nor be one.
// Reported as ESMCI/cime#4131.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

const double not_a_number = std::nan("");

program holds(const std::vector<double>& values) {
  return [=](session&, std::int32_t) {
    const array x(dtype::f32, {static_cast<std::int64_t>(values.size())}, values);
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
    NUMDIFF_INPUT(op, "x", x.seen());
  };
}

}  // namespace

TEST_CASE("NaN in one run only is a difference, counted apart") {
  const auto one = compared(holds({not_a_number}), holds({1.0}));
  INFO(told(one));
  CHECK(one.verdict == analysis::outcome::differ);
  const auto c = compared(holds({1, not_a_number, 3}), holds({1, 2, 3}));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(number(c, "nan_mismatch") == 1);
  CHECK(number(c, "worst_absolute") == 0);  // over finite pairs
}

TEST_CASE("NaN at the same place in both agrees and is bad health") {
  const auto c = compared(holds({not_a_number}), holds({not_a_number}));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
  CHECK(c.health == analysis::health::nonfinite);
}

TEST_CASE("as many NaN at another place are a difference") {
  for (const bool written : {false, true}) {
    const auto with_nan = [written](std::size_t place) -> program {
      return [=](session&, std::int32_t) {
        std::vector<double> raw = normal(2000, 6);
        raw[place] = not_a_number;
        const array x(dtype::f32, {50, 40}, raw);
        NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
        if (written)
          NUMDIFF_OUTPUT(op, "x", x.seen());
        else
          NUMDIFF_INPUT(op, "x", x.seen());
      };
    };
    const auto c = compared(with_nan(3), with_nan(4));
    INFO(written << "; " << told(c));
    CHECK(c.verdict == analysis::outcome::differ);
    CHECK(number(c, "nan_mismatch") == 2);
  }
}
