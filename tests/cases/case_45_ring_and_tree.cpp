// A bf16 all-reduce by a ring and by a tree: another order is no fault, ranks that disagree are one.
// Reported as ROCm/rocm-systems#11661 and NVIDIA/nccl#434.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int32_t ranks = 8;
constexpr std::int64_t n = 4096;
enum class way { ring, tree };

program reduced(way how, bool ranks_agree) {
  return [=](session& s, std::int32_t rank) {
    const dtype t = dtype::bf16;
    s.mesh("dp", ranks, rank);
    std::vector<array> in;
    for (std::uint64_t r = 0; r < ranks; ++r)
      in.emplace_back(t, std::vector<std::int64_t>{n}, normal(n, 100 + r));
    const bool tree = how == way::tree || (!ranks_agree && rank == 3);
    const array y = mapped(t, {n}, [&](std::size_t i) {
      const auto plus = [&](double a, double b) { return rounded(t, a + b); };
      if (!tree) {
        double total = in[0][i];
        for (std::size_t r = 1; r < ranks; ++r) total = plus(total, in[r][i]);
        return total;
      }
      return plus(plus(plus(in[0][i], in[1][i]), plus(in[2][i], in[3][i])),
                  plus(plus(in[4][i], in[5][i]), plus(in[6][i], in[7][i])));
    });
    NUMDIFF_OP(op, "all-reduce", all_reduce, numdiff::dtypes(t, t, t));
    NUMDIFF_COLLECTIVE(op, numdiff::collective(collective_operation::all_reduce, reduction::sum)
                               .communicator("dp")
                               .size(ranks)
                               .ranks({0, 1, 2, 3, 4, 5, 6, 7})
                               .count(n)
                               .wire(t));
    NUMDIFF_INPUT(op, "x", in[static_cast<std::size_t>(rank)].seen().partial("dp", reduction::sum));
    NUMDIFF_OUTPUT(op, "y", y.seen().replicated("dp"));
  };
}

}  // namespace

TEST_CASE("another order of the sum is noise") {
  const auto c = compared(reduced(way::ring, true), reduced(way::tree, true), ranks, ranks);
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
  bool noise = false;
  for (const analysis::finding& f : c.findings)
    noise = noise || (f.symptom == "noise" && f.cause == "reduction-order" && f.benign);
  CHECK(noise);
}

TEST_CASE("one rank with another order is a fault") {
  const auto c = compared(reduced(way::ring, true), reduced(way::ring, false), ranks, ranks);
  INFO(told(c));
  CHECK(first(c) == "all-reduce invariant replica-divergence");
}
