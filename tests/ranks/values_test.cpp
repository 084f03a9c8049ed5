// Elements that two ranks hold in each other's places.
#include <doctest/doctest.h>

#include "ranks/mlp.hpp"
#include "ranks/recorded_run.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;

namespace {

// Elements of the output of fc1 in layer 1: two of different ranks when four hold it.
constexpr std::int64_t of_rank_1 = 7 * mlp::inner + 30, of_rank_3 = 15 * mlp::inner + 80;

// `first` gets the number of `second` and, if `both`, the other way round.
mlp four(std::int64_t first, std::int64_t second, bool both = true) {
  mlp m;
  m.ranks = 4;
  m.spoil = [=, all = mlp{}.honest(1, "fc1")](const written& w) {
    if (w.op != "fc1" || w.layer != 1) return;
    const auto put = [&](std::int64_t to, std::int64_t from) {
      const std::int64_t column = to % mlp::inner - w.first;
      if (column >= 0 && column < w.width)
        w.values[static_cast<std::size_t>(to / mlp::inner * w.width + column)] =
            all[static_cast<std::size_t>(from)];
    };
    put(first, second);
    if (both) put(second, first);
  };
  return m;
}

}  // namespace

TEST_CASE("two elements that changed places between ranks are named with both ranks") {
  for (const dtype type : {dtype::f32, dtype::bf16}) {
    mlp m = four(of_rank_1, of_rank_3);
    m.type = type;
    const recorded_run whole(mlp{}.program(), 1, level::tensors), b(m.program(), 4, level::tensors);
    const auto c = compare(whole.run(), b.run());
    INFO(told(c));
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.scope == "decoder.layer.1.mlp");
    CHECK(c.first_divergence->where.op == "fc1");
    CHECK(c.first_divergence->rule == "ND611");
    CHECK(c.first_divergence->cause == "shard-mismatch");
    CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{1, 3});
    CHECK(number(c, "swapped_first") == of_rank_1);
    CHECK(number(c, "swapped_second") == of_rank_3);
    CHECK(number(c, "swapped_pairs") == 1);
  }
}

TEST_CASE("one wrong element is no swap, nor are two of one rank") {
  const recorded_run whole(mlp{}.program(), 1, level::tensors);
  for (const mlp& m : {four(of_rank_1, of_rank_3, false), four(of_rank_1, of_rank_1 + 5 * mlp::inner)}) {
    const recorded_run b(m.program(), 4, level::tensors);
    const auto c = compare(whole.run(), b.run());
    INFO(told(c));
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.op == "fc1");
    CHECK(c.first_divergence->rule != "ND611");
    CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{1});
  }
}
