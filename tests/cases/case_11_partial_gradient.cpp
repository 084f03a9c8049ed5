// A gradient that is a partial sum on every rank is passed on as if it were the whole.
// Reported as pytorch/torchtitan#3412.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

const std::vector<double> whole = {1, 2, 3, 4}, part[2] = {{3, -1, 1, 0}, {-2, 3, 2, 4}};

enum class labelled { replicated, partial };

program head(bool one_rank, labelled as) {
  return [=](session& s, std::int32_t rank) {
    if (!one_rank) s.mesh("tp", 2, rank);
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    const dtype f32 = dtype::f32;
    const array g(f32, {4}, one_rank ? whole : part[rank]);
    const auto loss_head = [&] {
      NUMDIFF_OP(op, "loss-head backward", head_gradient, numdiff::dtypes(f32, f32, f32));
      numdiff::view v = g.seen();
      if (!one_rank) v = as == labelled::partial ? v.partial("tp", reduction::sum) : v.replicated("tp");
      NUMDIFF_GRADIENT(op, "dx", v);
      return 0;
    };
    loss_head();
    array reduced(f32, {4}, whole);
    if (!one_rank && as == labelled::partial) {
      NUMDIFF_OP(op, "reduce", all_reduce, numdiff::dtypes(f32, f32, f32));
      NUMDIFF_COLLECTIVE(op, numdiff::collective(collective_operation::all_reduce, reduction::sum)
                                 .communicator("tp")
                                 .size(2)
                                 .ranks({0, 1})
                                 .count(4)
                                 .wire(f32));
      NUMDIFF_INPUT(op, "x", g.seen().partial("tp", reduction::sum));
      NUMDIFF_OUTPUT(op, "y", reduced.seen().replicated("tp"));
    } else if (!one_rank) {
      reduced = g;
    }
    NUMDIFF_OP(op, "decoder", scale, numdiff::dtypes(f32, f32, f32));
    numdiff::view v = reduced.seen();
    if (!one_rank) v = v.replicated("tp");
    NUMDIFF_INPUT(op, "dx", v);
    NUMDIFF_SCALAR(op, "factor", 2.0);
    const array y = mapped(f32, {4}, [&](std::size_t i) { return 2 * reduced[i]; });
    numdiff::view out = y.seen();
    if (!one_rank) out = out.replicated("tp");
    NUMDIFF_GRADIENT(op, "dy", out);
  };
}

// More elements than level sketch keeps values of, on four ranks.
program large_head(bool one_rank) {
  return [=](session& s, std::int32_t rank) {
    constexpr std::int64_t tokens = 15, width = 24;
    if (!one_rank) s.mesh("tp", 4, rank);
    NUMDIFF_STEP(0);
    NUMDIFF_PHASE(backward);
    const dtype f32 = dtype::f32;
    const auto part_of = [&](std::uint64_t r) {
      return array(f32, {tokens, width}, normal(tokens * width, 40 + r));
    };
    const array own = part_of(static_cast<std::uint64_t>(rank)),
                sum = mapped(f32, {tokens, width}, [&](std::size_t i) {
                  double total = 0;
                  for (std::uint64_t r = 0; r < 4; ++r) total += part_of(r)[i];
                  return total;
                });
    NUMDIFF_OP(op, "loss-head backward", head_gradient, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_GRADIENT(op, "dx", one_rank ? sum.seen() : own.seen().replicated("tp"));
  };
}

}  // namespace

TEST_CASE("ranks that differ and add up to the reference lack a reduction") {
  const auto c = compared(head(true, labelled::replicated), head(false, labelled::replicated), 1, 2);
  INFO(told(c));
  CHECK(first(c) == "loss-head backward invariant missing-reduction");
}

TEST_CASE("partial sums that say so and are reduced agree") {
  const auto c = compared(head(true, labelled::partial), head(false, labelled::partial), 1, 2);
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("sketches add up as well, so that the missing sum is told without values") {
  const auto c = compared(large_head(true), large_head(false), 1, 4);
  INFO(told(c));
  CHECK(first(c) == "loss-head backward invariant missing-reduction");
}
