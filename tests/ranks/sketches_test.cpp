// One shard that is off, found among four against one rank without any value.
#include <doctest/doctest.h>

#include "ranks/mlp.hpp"
#include "ranks/recorded_run.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::int32_t faulty = 2;

// `off` for every element of one op's output on one rank of layer 1.
mlp four(const char* op, const std::function<double(std::size_t)>& off) {
  mlp m;
  m.ranks = 4;
  m.spoil = [op, off](const written& w) {
    if (w.op != op || w.rank != faulty || w.layer != 1) return;
    for (std::size_t i = 0; i < w.values.size(); ++i) w.values[i] *= 1 + off(i);
  };
  return m;
}

double one_in_a_thousand(std::size_t) {
  return 1e-3;
}

// Relative errors of 1e-3 in the mean square, of both signs.
double noise(std::size_t i) {
  static const std::vector<double> draws = reproduce::normal(mlp::tokens * mlp::inner, 77, 1e-3);
  return draws[i % draws.size()];
}

void check_found(const analysis::comparison& c, const std::string& op, double size) {
  INFO(told(c));
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.scope == "decoder.layer.1.mlp");
  CHECK(c.first_divergence->where.op == op);
  CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{faulty});
  CHECK_FALSE(c.first_divergence->where.all_ranks);
  CHECK(number(c, "shard_relative_l2") == doctest::Approx(size).epsilon(0.25));
}

}  // namespace

TEST_CASE("four ranks agree with one, from sketches and from values") {
  for (const level l : {level::sketch, level::tensors}) {
    const recorded_run a(mlp{}.program(), 1, l), b(mlp{.ranks = 4}.program(), 4, l),
        c(mlp{.ranks = 2}.program(), 2, l);
    for (const recorded_run* other : {&a, &c}) {
      const auto d = compare(other->run(), b.run());
      INFO(told(d));
      CHECK(d.verdict == outcome::agree);
      CHECK(d.totals.beyond == 0);
    }
  }
}

TEST_CASE("a factor on one shard is found beside a whole reference: the difference points along the shard") {
  const recorded_run whole(mlp{}.program(), 1, level::sketch);
  for (const char* op : {"fc1", "act", "fc2"}) {
    const recorded_run four_ranks(four(op, one_in_a_thousand).program(), 4, level::sketch);
    const auto c = compare(whole.run(), four_ranks.run());
    check_found(c, op, 1e-3);
    CHECK(number(c, "shard_factor") == doctest::Approx(1.001).epsilon(1e-4));
    // A run of one rank has no rank to name, but the other one's.
    const auto other = compare(four_ranks.run(), whole.run());
    INFO(told(other));
    CHECK(other.verdict == outcome::differ);
    CHECK(number(other, "other_run_rank") == faulty);
    CHECK(number(other, "shard_factor") == doctest::Approx(1 / 1.001).epsilon(1e-4));
  }
}

TEST_CASE("any error in one shard is found where the reference keeps sketches of the shards") {
  const recorded_run shards(mlp{}.program(), 1, level::sketch, "tp=4");
  const recorded_run two(mlp{.ranks = 2}.program(), 2, level::sketch, "tp=4");
  for (const auto& off : {noise, one_in_a_thousand}) {
    const recorded_run four_ranks(four("fc1", off).program(), 4, level::sketch);
    check_found(compare(shards.run(), four_ranks.run()), "fc1", 1e-3);
    check_found(compare(two.run(), four_ranks.run()), "fc1", 1e-3);
  }
}

TEST_CASE("without them the op is named, not the rank, and what to record") {
  const recorded_run whole(mlp{}.program(), 1, level::sketch);
  const recorded_run four_ranks(four("fc1", noise).program(), 4, level::sketch);
  const auto c = compare(whole.run(), four_ranks.run());
  INFO(told(c));
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "fc1");
  CHECK(c.first_divergence->where.ranks.empty());
  CHECK_FALSE(c.first_divergence->where.all_ranks);
  REQUIRE(c.next_capture);
  CHECK(c.next_capture->shards == "tp=4");
}

TEST_CASE("the same error on all ranks is named as that") {
  mlp all;
  all.ranks = 4;
  all.spoil = [](const written& w) {
    if (w.op != "fc1" || w.layer != 1) return;
    for (double& v : w.values) v *= 1.001;
  };
  const recorded_run whole(mlp{}.program(), 1, level::sketch),
      shards(mlp{}.program(), 1, level::sketch, "tp=4"), four_ranks(all.program(), 4, level::sketch);
  for (const recorded_run* reference : {&whole, &shards}) {
    const auto c = compare(reference->run(), four_ranks.run());
    INFO(told(c));
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.op == "fc1");
    CHECK(c.first_divergence->where.all_ranks);
  }
}

TEST_CASE("from values, any error in one shard of one layer has its rank, in either run") {
  const recorded_run whole(mlp{}.program(), 1, level::tensors);
  const recorded_run four_ranks(four("fc1", noise).program(), 4, level::tensors);
  check_found(compare(whole.run(), four_ranks.run()), "fc1", 1e-3);
  const auto c = compare(four_ranks.run(), whole.run());
  INFO(told(c));
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->seen_in == analysis::side::reference);
  CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{faulty});
}
