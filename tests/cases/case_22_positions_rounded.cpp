// Rotary positions are cast to bf16, which cannot hold every integer above 256.
// Reported as NVIDIA/Megatron-LM#535.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program angles(dtype t, std::int64_t count) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    array positions(dtype::i32, {count});
    for (std::size_t i = 0; i < positions.size(); ++i) positions.set(i, static_cast<double>(i));
    const array cast_to = positions.as(t);
    const auto narrowed = [&] {
      NUMDIFF_OP(op, "position cast", cast, numdiff::dtypes(dtype::i32, f32, t));
      NUMDIFF_INPUT(op, "positions", positions.seen());
      NUMDIFF_CAST(op, "cast", positions.seen(), cast_to.seen());
      return 0;
    };
    narrowed();
    NUMDIFF_OP(op, "cosine", cosine, numdiff::dtypes(t, f32, f32));
    NUMDIFF_INPUT(op, "positions", cast_to.seen());
    const array y = mapped(f32, {count}, [&](std::size_t i) { return std::cos(cast_to[i]); });
    NUMDIFF_OUTPUT(op, "cos", y.seen());
  };
}

// Positions that are floats from the start, two sequences of them.
program float_positions(dtype t, std::int64_t count) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    const array positions = mapped(f32, {2, count}, [&](std::size_t i) {
      return static_cast<double>(i % static_cast<std::size_t>(count));
    });
    const array cast_to = positions.as(t);
    NUMDIFF_OP(op, "position cast", cast, numdiff::dtypes(f32, f32, t));
    NUMDIFF_INPUT(op, "positions", positions.seen());
    NUMDIFF_CAST(op, "cast", positions.seen(), cast_to.seen());
  };
}

}  // namespace

TEST_CASE("the cast of the positions is named, not the cosine") {
  const auto c = compared(angles(dtype::f32, 16384), angles(dtype::bf16, 16384));
  INFO(told(c));
  CHECK(first(c) == "position cast mismatch unrepresentable-integer");
  CHECK(number(c, "first_collapsed") == 257);
}

TEST_CASE("positions that the format holds are no fault") {
  const auto c = compared(angles(dtype::f32, 257), angles(dtype::bf16, 257));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("positions need not be integers by their format") {
  const auto c = compared(float_positions(dtype::f32, 3000), float_positions(dtype::f16, 3000));
  INFO(told(c));
  CHECK(first(c) == "position cast mismatch unrepresentable-integer");
  CHECK(number(c, "first_collapsed") == 2049);
  CHECK(compared(float_positions(dtype::f32, 2049), float_positions(dtype::f16, 2049)).verdict ==
        analysis::outcome::agree);
}
