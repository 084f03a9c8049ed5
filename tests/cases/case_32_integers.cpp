// Integers whose difference wraps in their own type, or vanishes in a float.
// Reported as numpy/numpy#21768.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

template <class T>
program holds(std::vector<T> values) {
  return [values](session&, std::int32_t) {
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(dtype::i32, dtype::i32, dtype::i32));
    NUMDIFF_INPUT(op, "x", numdiff::view(values.data(), {values.size()}));
  };
}

template <class T>
analysis::comparison between(std::vector<T> a, std::vector<T> b) {
  return compared(holds(std::move(a)), holds(std::move(b)));
}

}  // namespace

TEST_CASE("differences of integers do not wrap") {
  const auto c = between<std::uint8_t>({10, 10}, {9, 14});
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(number(c, "worst_absolute") == 4);
  const auto small = between<std::int32_t>({INT32_MIN}, {INT32_MAX});
  CHECK(small.verdict == analysis::outcome::differ);
  CHECK(number(small, "worst_absolute") == 0x1p32 - 1);
  const auto wide = between<std::int64_t>({INT64_MIN}, {INT64_MAX});
  CHECK(wide.verdict == analysis::outcome::differ);
  CHECK(number(wide, "worst_absolute") == doctest::Approx(0x1p64).epsilon(1e-15));
}

TEST_CASE("integers are compared exactly") {
  const auto c = between<std::int64_t>({140499600015872}, {140499600016384});
  CHECK(c.verdict == analysis::outcome::differ);
  CHECK(number(c, "worst_absolute") == 512);
  // Neighbours that no double tells apart.
  CHECK(between<std::int64_t>({INT64_MAX - 1}, {INT64_MAX}).verdict == analysis::outcome::differ);
  CHECK(between<std::int64_t>({INT64_MAX}, {INT64_MAX}).verdict == analysis::outcome::agree);
}
