// A loss that is summed over accumulated parts and divided by nobody; a mean of means over unequal parts.
// Reported as huggingface/transformers#34242.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t parts = 2, tokens = 8;

program accumulated(bool divides) {
  return [=](session&, std::int32_t) {
    const dtype f32 = dtype::f32;
    NUMDIFF_STEP(0);
    const array sum(f32, {tokens}, normal(tokens, 7, 1, 3));
    NUMDIFF_OP(op, "loss reduction", scale, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "sum", sum.seen());
    NUMDIFF_SCALAR(op, "factor", 1.0 / parts);
    const array y = mapped(f32, {tokens}, [&](std::size_t i) { return divides ? sum[i] / parts : sum[i]; });
    NUMDIFF_OUTPUT(op, "loss", y.seen());
  };
}

// Two ranks with unequal counts of tokens. `weighs`: the mean over all tokens, else the mean of the means.
program reduced(bool weighs, bool equal_counts, double second = 1) {
  return [=](session& s, std::int32_t rank) {
    const dtype f32 = dtype::f32;
    s.mesh("dp", 2, rank);
    NUMDIFF_STEP(0);
    const double count[2] = {equal_counts ? 5.0 : 1.0, equal_counts ? 5.0 : 9.0}, mean[2] = {5, second};
    const array loss(f32, {}, mean[rank]), held(f32, {}, count[rank]);
    const double all = (mean[0] * count[0] + mean[1] * count[1]) / (count[0] + count[1]);
    const array y(f32, {}, weighs ? all : (mean[0] + mean[1]) / 2);
    NUMDIFF_OP(op, "loss reduction", all_reduce, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_COLLECTIVE(op, numdiff::collective(collective_operation::all_reduce, reduction::average)
                               .communicator("dp")
                               .size(2)
                               .ranks({0, 1})
                               .count(1)
                               .wire(f32));
    NUMDIFF_INPUT(op, "loss", loss.seen().partial("dp", reduction::average));
    NUMDIFF_INPUT(op, "tokens", held.seen().partial("dp", reduction::sum));
    NUMDIFF_OUTPUT(op, "mean", y.seen().replicated("dp"));
  };
}

}  // namespace

TEST_CASE("a factor of one over the number of parts is missing") {
  const auto c = compared(accumulated(true), accumulated(false));
  INFO(told(c));
  CHECK(first(c) == "loss reduction factor factor-missing");
  CHECK(number(c, "factor") == doctest::Approx(parts));
}

TEST_CASE("a mean of means weighs ranks and not tokens") {
  const auto c = compared(reduced(true, false), reduced(false, false), 2, 2);
  INFO(told(c));
  CHECK(first(c) == "loss reduction factor wrong-weighting");
  // Nearly equal means: off by half a percent, and still divided by the right count.
  CHECK(first(compared(reduced(true, false, 5.05), reduced(false, false, 5.05), 2, 2)) ==
        "loss reduction factor wrong-weighting");
}

TEST_CASE("with equal counts both means are one") {
  const auto c = compared(reduced(true, true), reduced(false, true), 2, 2);
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
