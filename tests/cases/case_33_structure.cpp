// Tensors of another shape or type, tensors of one run only, and empty ones.
// Reported as Samsung/ONE#2658.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program holds(dtype t, std::vector<std::int64_t> shape, bool second = false) {
  return [=](session&, std::int32_t) {
    const array x(t, shape, 1.0);
    NUMDIFF_OP(op, "load", constants, numdiff::dtypes(t, t, t));
    NUMDIFF_INPUT(op, "x", x.seen());
    if (second) NUMDIFF_INPUT(op, "extra", x.seen());
  };
}

analysis::comparison between(dtype a, std::vector<std::int64_t> shape_a, dtype b,
                             std::vector<std::int64_t> shape_b) {
  return compared(holds(a, std::move(shape_a)), holds(b, std::move(shape_b)));
}

}  // namespace

TEST_CASE("what cannot be compared does not pass") {
  const dtype f32 = dtype::f32;
  CHECK(between(f32, {2, 4}, f32, {4, 2}).verdict != analysis::outcome::agree);
  CHECK(between(f32, {0, 4}, f32, {3, 4}).verdict != analysis::outcome::agree);
  CHECK(between(f32, {2, 4}, f32, {2, 3}).verdict != analysis::outcome::agree);
  CHECK(between(f32, {}, f32, {1, 4}).verdict != analysis::outcome::agree);
}

TEST_CASE("a tensor of one run only is named") {
  const auto c = compared(holds(dtype::f32, {4}), holds(dtype::f32, {4}, true));
  INFO(told(c));
  CHECK(c.verdict != analysis::outcome::agree);
  CHECK(!c.incomplete_because.empty());
}

TEST_CASE("two empty tensors agree") {
  const auto c = between(dtype::f32, {0, 4}, dtype::f32, {0, 4});
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
