// Which op is which: unequal numbers of calls, ops that only one run has, skipped steps, selections of ranks.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "analysis/align.hpp"
#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::fate;
using analysis::outcome;

namespace {

// One call of "f" for each number, its output made from it.
run_builder calls(const std::vector<std::uint64_t>& seeds, const std::string& kind = "mystery") {
  run_builder b;
  for (const std::uint64_t seed : seeds) {
    b->op(0, "s", "f", kind);
    b->output("y", whole(numbers(32, seed)));
  }
  return b;
}

std::string pairs_of(run_builder& a, run_builder& b) {
  analysis::symbols names;
  const analysis::run_index reference(a.run(), names, {}), test(b.run(), names, {});
  std::string text;
  for (const analysis::op_pair& p : align(reference, test)) {
    const auto number = [](std::int32_t i) { return i < 0 ? std::string("-") : std::to_string(i); };
    text += number(p.reference) + number(p.test) + (p.fate == fate::ambiguous ? "? " : " ");
  }
  return text;
}

}  // namespace

TEST_CASE("calls are aligned by what they hold when their numbers differ, never by index") {
  run_builder all = calls({1, 2, 3}), without_first = calls({2, 3}), without_second = calls({1, 3});
  CHECK(pairs_of(all, without_first) == "0- 10 21 ");
  CHECK(pairs_of(all, without_second) == "00 1- 21 ");
  CHECK(pairs_of(without_first, all) == "-0 01 12 ");
}

TEST_CASE("calls that fit equally well stay apart") {
  run_builder same = calls({5, 5}), one = calls({5});
  CHECK(pairs_of(same, one).find('?') != std::string::npos);
  const auto c = compare(same.run(), one.run());
  CHECK(c.verdict == outcome::incomplete);
  CHECK(std::ranges::any_of(c.findings,
                            [](const analysis::finding& f) { return f.cause == "structure-differs"; }));
}

TEST_CASE("equal numbers of calls are paired in order") {
  run_builder a = calls({1, 2}), b = calls({3, 4});
  CHECK(pairs_of(a, b) == "00 11 ");
}

TEST_CASE("an extra cast is auxiliary, judged alone") {
  const auto build = [](bool cast, double off) {
    run_builder b;
    const std::vector<double> x = numbers(64, 3);
    std::vector<double> y = x;
    y[5] += off;
    b->op(0, "s", "g", "mystery");
    b->output("x", whole(x));
    if (cast) {
      b->op(0, "s", "to_bf16", "cast").output_dtype = static_cast<std::uint16_t>(dtype::bf16);
      b->input("x", whole(x));
      b->output("y", whole(y, dtype::bf16));
    }
    return b;
  };
  run_builder a = build(false, 0), b = build(true, 0), c = build(true, 0.5);
  const auto good = compare(a.run(), b.run());
  CHECK(good.verdict == outcome::agree);
  CHECK(good.totals.test.auxiliary == 2);
  const auto bad = compare(a.run(), c.run());
  CHECK(bad.verdict == outcome::differ);
  REQUIRE(bad.first_divergence);
  CHECK(bad.first_divergence->where.op == "to_bf16");
}

TEST_CASE("other shapes are structure") {
  run_builder a, b;
  a->op(0, "s", "f", "mystery");
  a->output("y", whole(numbers(32, 1)));
  b->op(0, "s", "f", "mystery");
  b->output("y", whole(numbers(33, 1)));
  const auto c = compare(a.run(), b.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->symptom == "structure");
}

TEST_CASE("a run that skips its first steps agrees: the optimizer is aligned by update") {
  // Each step: a gradient from the batch of that step, and an update unless it is skipped.
  const auto train = [](int skips) {
    run_builder b;
    double weight = 1;
    std::int64_t update = 0;
    for (std::int64_t step = 0; step < 5; ++step) {
      rank_builder& r = b[0];
      r.update = update;
      const double batch = 0.25 * static_cast<double>(step + 1);
      r.op(step, "net", "forward", "multiply");
      r.weight("w", whole({weight, weight}));
      r.input("x", whole({batch, -batch}));
      r.output("y", whole({weight * batch, -weight * batch}));
      if (step < skips) {
        r.skip(step);
        continue;
      }
      const double next = weight * 0.5;
      r.op(step, "net", "decay", "scale", phase::optimizer);
      r.weight("w", whole({weight, weight}));
      r.scalar("factor", 0.5);
      r.output("w", whole({next, next}));
      weight = next;
      ++update;
    }
    return b;
  };
  run_builder a = train(0), b = train(2);
  const auto c = compare(a.run(), b.run());
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.undecided == 0);
  CHECK(c.totals.reference.only_there == 0);
}

TEST_CASE("non-finite gradients of a skipped step are handled") {
  const auto build = [](bool overflow, bool skip) {
    run_builder b;
    b->op(0, "net", "dx", "mystery", phase::backward);
    b->input("x", whole({1, 2}));
    b->gradient("y", whole({overflow ? HUGE_VAL : 3.0, 4.0}));
    if (skip) b->skip(0);
    return b;
  };
  run_builder a = build(false, false), b = build(true, true), c = build(true, false);
  const auto handled = compare(a.run(), b.run()), unhandled = compare(a.run(), c.run());
  CHECK(handled.verdict == outcome::agree);
  CHECK(handled.health == numdiff::analysis::health::ok);
  CHECK(unhandled.verdict == outcome::differ);
  CHECK(unhandled.health == numdiff::analysis::health::nonfinite);
}

TEST_CASE("a pending factor is divided out, an undeclared one is a finding") {
  const auto build = [](double scale, double declared) {
    run_builder b;
    std::vector<double> v = numbers(300, 8);
    for (double& x : v) x *= scale;
    held h = whole(v);
    h.pending_factor = declared;
    b->op(0, "s", "f", "mystery", phase::backward);
    b->gradient("y", h);
    return b;
  };
  run_builder a = build(1, 1), declared = build(1024, 1024), hidden = build(1024, 1);
  CHECK(compare(a.run(), declared.run()).verdict == outcome::agree);
  const auto c = compare(a.run(), hidden.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->symptom == "factor");
}
