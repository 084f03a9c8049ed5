// A step in two micro-batches against the whole batch at once: shards of the batch, terms of the gradient.
#include <doctest/doctest.h>

#include "array.hpp"
#include "ranks/recorded_run.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;
using reproduce::array;

namespace {

constexpr std::int64_t tokens = 20, in = 18, out = 26;

std::vector<double> rows(const std::vector<double>& all, std::int64_t width, std::int64_t begin,
                         std::int64_t end) {
  return {all.begin() + begin * width, all.begin() + end * width};
}

// dw = x^T dy over the tokens of each micro-batch; `weight` is what each counts in the gradient that is told
// as a term of the whole.
reproduce::program program(std::int32_t parts, double weight = 1) {
  return [=](session& s, std::int32_t) {
    s.mesh("micro_batch", parts, 0);
    const std::vector<double> x = reproduce::normal(tokens * in, 1), dy = reproduce::normal(tokens * out, 2);
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    for (std::int32_t part = 0; part < parts; ++part) {
      NUMDIFF_MICRO_BATCH(part);
      const std::int64_t begin = tokens * part / parts, end = tokens * (part + 1) / parts;
      const array own_x(dtype::f32, {end - begin, in}, rows(x, in, begin, end)),
          own_dy(dtype::f32, {end - begin, out}, rows(dy, out, begin, end));
      const array dw = reproduce::mapped(dtype::f32, {in, out}, [&](std::size_t i) {
        float sum = 0;
        for (std::size_t t = 0; t < static_cast<std::size_t>(end - begin); ++t)
          sum += static_cast<float>(own_x[t * in + i / out]) * static_cast<float>(own_dy[t * out + i % out]);
        return weight * static_cast<double>(sum);
      });
      NUMDIFF_OP(op, "dw", mystery, dtypes(dtype::f32, dtype::f32, dtype::f32));
      NUMDIFF_INPUT(op, "x", own_x.seen().shard("micro_batch", 0).box(0, begin, tokens));
      NUMDIFF_INPUT(op, "dy", own_dy.seen().shard("micro_batch", 0).box(0, begin, tokens));
      NUMDIFF_GRADIENT(op, "dw", dw.seen().partial("micro_batch", reduction::sum));
    }
  };
}

}  // namespace

TEST_CASE("micro-batches are shards of the batch and terms of its gradient") {
  for (const level l : {level::sketch, level::tensors}) {
    const recorded_run whole(program(1), 1, l), two(program(2), 1, l), three(program(3), 1, l);
    for (const auto& [a, b] : {std::pair{&whole, &two}, {&two, &whole}, {&two, &three}}) {
      const auto c = compare(a->run(), b->run());
      INFO(told(c));
      CHECK(c.totals.matched == 3);
      CHECK(c.totals.equal == 2);  // the inputs
      CHECK(c.totals.not_comparable == 0);
      CHECK(c.totals.beyond == 0);
    }
  }
}

TEST_CASE("a gradient that is not divided by the number of micro-batches is off by their number") {
  for (const level l : {level::sketch, level::tensors}) {
    const recorded_run whole(program(1), 1, l), wrong(program(2, 2), 1, l);
    const auto c = compare(whole.run(), wrong.run());
    INFO(told(c));
    CHECK(c.verdict == outcome::differ);
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.tensor == "dw");
    CHECK(c.first_divergence->symptom == "factor");
    CHECK(number(c, "relative_l2") == doctest::Approx(1).epsilon(0.15));
  }
}
