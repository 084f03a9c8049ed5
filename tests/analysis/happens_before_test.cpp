// One order of all ranks: program order, messages and collectives are kept, the other run decides the rest.
#include "analysis/happens_before.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::in_order;
using analysis::program_orders;

namespace {

bool before(const std::vector<std::uint32_t>& order, std::uint32_t a, std::uint32_t b) {
  return std::ranges::find(order, a) < std::ranges::find(order, b);
}

using values = std::vector<double>;

values plus(values v, double by) {
  for (double& x : v) x += by;
  return v;
}

void addition(rank_builder& r, int layer, phase p, const values& x, const values& y) {
  r.op(0, "decoder.layer." + std::to_string(layer), "f", "add", p);
  r.input("x", whole(x));
  r.input("one", whole(values(x.size(), 1)));
  r.output("y", whole(y));
}

void message(rank_builder& r, collective_operation operation, std::int32_t peer, const values& x) {
  const bool sends = operation == collective_operation::send;
  const char* name = sends ? "send" : "receive";
  r.op(0, "", name, name, phase::communication);
  r.collective(operation, 2, reduction::none);
  r.last_collective().peer = peer;
  sends ? r.input("x", whole(x)) : r.output("x", whole(x));
}

// Two stages: layer 0, forward and backward, on rank 0, and layer 1 on rank 1. Each adds one; the first error
// is made by layer 1 going forward, the second by layer 0 going back.
run_builder two_stages(double first, double second) {
  run_builder b(2, level::sketch);
  const values x = numbers(300, 5), y0 = plus(x, 1), y1 = plus(y0, 1 + first), g1 = plus(y1, 1),
               g0 = plus(g1, 1 + second);
  addition(b[0], 0, phase::forward, x, y0);
  message(b[0], collective_operation::send, 1, y0);
  message(b[0], collective_operation::receive, 1, g1);
  addition(b[0], 0, phase::backward, g1, g0);
  message(b[1], collective_operation::receive, 0, y0);
  addition(b[1], 1, phase::forward, y0, y1);
  addition(b[1], 1, phase::backward, y1, g1);
  message(b[1], collective_operation::send, 0, g1);
  return b;
}

}  // namespace

TEST_CASE("program order, messages and meetings are kept") {
  program_orders all;
  all.ops = 7;
  all.ranks = {{0, 1, 2}, {3, 4, 5, 6}};
  all.messages = {{1, 3}, {5, 2}};
  const auto order = in_order(all);
  REQUIRE(order.size() == 7);
  for (const auto& [a, b] : {std::pair{0U, 1U}, {1U, 2U}, {1U, 3U}, {3U, 4U}, {4U, 5U}, {5U, 2U}, {5U, 6U}})
    CHECK(before(order, a, b));

  program_orders met;
  met.ops = 4;
  met.ranks = {{0, 1}, {2, 3}};
  met.meetings = {{1, 3}};
  const auto joined = in_order(met);
  CHECK((before(joined, 0, 3) && before(joined, 2, 1)));
}

TEST_CASE("what ranks leave open is as in the other run; contradictions end") {
  program_orders all;
  all.ops = 4;
  all.ranks = {{0, 1}, {2, 3}};
  all.like = {10, 40, 20, 30};
  CHECK(in_order(all) == std::vector<std::uint32_t>{0, 2, 3, 1});
  all.like = {-1, 5, 0, 1};
  CHECK(before(in_order(all), 3, 1));
  program_orders round;
  round.ops = 3;
  round.ranks = {{0, 1, 2}, {1, 0, 2}};
  const auto order = in_order(round);
  REQUIRE(order.size() == 3);
  CHECK(order.back() == 2);
}

TEST_CASE("an error of the second stage begins in its forward pass, before the first stage's backward pass") {
  run_builder one(1, level::sketch), same = two_stages(0, 0), bad = two_stages(0.25, 0.25);
  {
    const values x = numbers(300, 5), y0 = plus(x, 1), y1 = plus(y0, 1), g1 = plus(y1, 1), g0 = plus(g1, 1);
    addition(one[0], 0, phase::forward, x, y0);
    addition(one[0], 1, phase::forward, y0, y1);
    addition(one[0], 1, phase::backward, y1, g1);
    addition(one[0], 0, phase::backward, g1, g0);
  }
  CHECK(compare(one.run(), same.run()).verdict == analysis::outcome::agree);
  for (run_builder* reference : {&one, &same}) {
    const auto c = compare(reference->run(), bad.run());
    REQUIRE(c.roots.size() == 2);
    CHECK(c.roots[0].where.scope == "decoder.layer.1");
    CHECK(c.roots[0].where.phase == phase::forward);
    CHECK(c.roots[0].where.ranks == std::vector<std::int32_t>{1});
    CHECK(c.roots[1].where.scope == "decoder.layer.0");
    CHECK(c.roots[1].where.phase == phase::backward);
    CHECK(c.roots[1].where.ranks == std::vector<std::int32_t>{0});
  }
}
