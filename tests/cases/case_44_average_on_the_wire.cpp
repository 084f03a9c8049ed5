// An fp16 average over ranks: the sum first overflows, the division first loses small values.
// Reported as pytorch/pytorch#61814.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int32_t ranks = 16;
constexpr std::int64_t n = 8;

program average(dtype t, double value, bool sum_first) {
  return [=](session& s, std::int32_t rank) {
    s.mesh("dp", ranks, rank);
    const array x = array(dtype::f16, {n}, value).as(t);
    double y = 0;
    for (std::int32_t r = 0; r < ranks; ++r)
      y = rounded(t, y + (sum_first ? x[0] : rounded(t, x[0] / ranks)));
    if (sum_first) y /= ranks;
    const array result(t, {n}, y);
    std::vector<std::int32_t> group(ranks);
    for (std::int32_t r = 0; r < ranks; ++r) group[static_cast<std::size_t>(r)] = r;
    NUMDIFF_OP(op, "all-reduce", all_reduce, numdiff::dtypes(t, t, t));
    NUMDIFF_COLLECTIVE(op, numdiff::collective(collective_operation::all_reduce, reduction::average)
                               .communicator("dp")
                               .size(ranks)
                               .ranks(group.data(), ranks)
                               .count(n)
                               .wire(t));
    NUMDIFF_INPUT(op, "x", x.seen().partial("dp", reduction::average));
    NUMDIFF_OUTPUT(op, "y", result.seen().replicated("dp"));
  };
}

}  // namespace

TEST_CASE("the sum first leaves the range of the wire") {
  const auto c = compared(average(dtype::f32, 5000, true), average(dtype::f16, 5000, true), ranks, ranks);
  INFO(told(c));
  CHECK(first(c) == "all-reduce overflow low-precision-communication");
  CHECK(number(c, "group_size") == ranks);
}

TEST_CASE("the division first falls below it") {
  const auto c = compared(average(dtype::f32, 3e-7, false), average(dtype::f16, 3e-7, false), ranks, ranks);
  INFO(told(c));
  CHECK(first(c) == "all-reduce underflow low-precision-communication");
}

TEST_CASE("values in range are no fault either way") {
  for (const bool sum_first : {true, false}) {
    const auto c =
        compared(average(dtype::f32, 3, sum_first), average(dtype::f16, 3, sum_first), ranks, ranks);
    INFO(told(c));
    CHECK(c.verdict == analysis::outcome::agree);
  }
}
