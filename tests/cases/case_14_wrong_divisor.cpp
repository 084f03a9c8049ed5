// A sum of the shares of four sequence ranks is divided by four as if it were an average.
// Reported as deepspeedai/DeepSpeed#5555.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t n = 512;
constexpr std::int32_t ranks = 4;

double share(std::int32_t rank, std::size_t i) {
  static const std::vector<double> all = normal(static_cast<std::size_t>(n * ranks), 6);
  return rounded(dtype::f32, all[static_cast<std::size_t>(rank) * n + i]);
}

program reduced(double divisor) {
  return [=](session& s, std::int32_t rank) {
    s.mesh("sp", ranks, rank);
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    const dtype f32 = dtype::f32;
    const array mine = mapped(f32, {n}, [&](std::size_t i) { return share(rank, i); });
    const array sum = mapped(f32, {n}, [&](std::size_t i) {
      double total = 0;
      for (std::int32_t r = 0; r < ranks; ++r) total += share(r, i);
      return total / divisor;
    });
    NUMDIFF_OP(op, "gradient reduction", all_reduce, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_COLLECTIVE(op, numdiff::collective(collective_operation::all_reduce, reduction::sum)
                               .communicator("sp")
                               .size(ranks)
                               .ranks({0, 1, 2, 3})
                               .count(n)
                               .wire(f32));
    NUMDIFF_INPUT(op, "g", mine.seen().partial("sp", reduction::sum));
    NUMDIFF_GRADIENT(op, "sum", sum.seen().replicated("sp"));
  };
}

}  // namespace

TEST_CASE("every gradient is a quarter: the divisor is named") {
  const auto c = compared(reduced(1), reduced(4), ranks, ranks);
  INFO(told(c));
  CHECK(first(c) == "gradient reduction factor wrong-divisor");
  CHECK(number(c, "factor") == doctest::Approx(0.25).epsilon(1e-4));
  CHECK(c.roots.size() == 1);
}

TEST_CASE("a sum over four ranks that is divided by the two of another axis") {
  const auto c = compared(reduced(1), reduced(2), ranks, ranks);
  INFO(told(c));
  CHECK(first(c) == "gradient reduction factor wrong-divisor");
  CHECK(number(c, "factor") == doctest::Approx(0.5).epsilon(1e-4));
}
