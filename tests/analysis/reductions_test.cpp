// Sums over ranks that were left out or taken twice, and those that only look like it.
#include <doctest/doctest.h>

#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::comparison;

namespace {

constexpr std::size_t count = 240;

std::string first(const comparison& c) {
  return c.first_divergence ? c.first_divergence->where.tensor + " " + c.first_divergence->cause : "none";
}

std::vector<double> in(dtype t, std::vector<double> v) {
  for (double& x : v) x = decode(t, encode(t, x));
  return v;
}

}  // namespace

TEST_CASE("replicas: a mean that was not taken, and noise that averages out") {
  const std::vector<double> mean = numbers(count, 10);
  const auto ranks = [&](double apart, dtype t) {
    run_builder b(4);
    for (std::size_t r = 0; r < 4; ++r) {
      std::vector<double> own = numbers(count, 20 + r);
      for (std::size_t i = 0; i < count; ++i) {
        double others = 0;
        for (std::size_t q = 0; q < 4; ++q) others += numbers(count, 20 + q)[i] / 4;
        own[i] = mean[i] + apart * (own[i] - others);
      }
      b[r].op(0, "s", "dw", "mystery");
      held h = whole(in(t, own), t);
      h.mesh = "[" + axis("dp", 4, static_cast<int>(r), "replicated") + "]";
      b[r].gradient("g", h);
    }
    return b;
  };
  run_builder a;
  a->op(0, "s", "dw", "mystery");
  a->gradient("g", whole(mean));
  for (const dtype t : {dtype::f32, dtype::bf16}) {
    run_builder b = ranks(0.5, t);
    CHECK(first(compare(a.run(), b.run())) == "g missing-reduction");
  }
  run_builder one = ranks(0, dtype::f32);
  CHECK(first(compare(a.run(), one.run())) == "none");
}

TEST_CASE("a gradient that is read as reduced and was written as a term lacks its reduction") {
  const auto build = [](bool reduces, std::size_t ranks) {
    run_builder b(static_cast<std::int32_t>(ranks));
    std::vector<double> whole_sum(count, 0);
    for (std::size_t q = 0; q < 4; ++q)
      for (std::size_t i = 0; i < count; ++i) whole_sum[i] += numbers(count, 30 + q)[i];
    for (std::size_t r = 0; r < ranks; ++r) {
      std::vector<double> own(count, 0);
      for (std::size_t q = 0; q < 4; ++q)
        for (std::size_t i = 0; i < count && q * ranks / 4 == r; ++i) own[i] += numbers(count, 30 + q)[i];
      const auto place = [&](std::vector<double> v, const char* how) {
        held h = whole(std::move(v));
        h.mesh = "[" + axis("dp", static_cast<int>(ranks), static_cast<int>(r), how) + "]";
        return h;
      };
      b[r].op(0, "s", "dw", "mystery", phase::backward);
      b[r].gradient("g", place(own, "partial_sum"));
      const std::vector<double> used = reduces ? whole_sum : own;
      if (reduces && ranks > 1) {
        b[r].op(0, "s", "reduce", "all_reduce", phase::backward);
        b[r].collective(collective_operation::all_reduce, static_cast<std::uint32_t>(ranks));
        b[r].input("x", place(own, "partial_sum"));
        b[r].output("y", place(used, "replicated"));
      }
      std::vector<double> w = numbers(count, 40);
      for (std::size_t i = 0; i < count; ++i) w[i] -= used[i];
      b[r].op(0, "s", "sgd", "subtract", phase::optimizer);
      b[r].weight("w", place(numbers(count, 40), "replicated"));
      b[r].input("g", place(used, "replicated"));
      b[r].output("w.new", place(w, "replicated"));
    }
    return b;
  };
  run_builder a = build(true, 1), honest = build(true, 4), lacks = build(false, 4), two = build(true, 2);
  CHECK(first(compare(a.run(), honest.run())) == "none");
  CHECK(first(compare(two.run(), honest.run())) == "none");
  CHECK(first(compare(a.run(), lacks.run())) == "g missing-reduction");
  CHECK(first(compare(honest.run(), lacks.run())) == "g missing-reduction");
}

TEST_CASE("a rank that keeps its own share is named, also where the others are as in the reference") {
  const auto build = [](bool keeps) {
    run_builder b(3);
    for (std::size_t r = 0; r < 3; ++r) {
      std::vector<double> sum(count, 0);
      for (std::size_t q = 0; q < 3; ++q)
        for (std::size_t i = 0; i < count; ++i) sum[i] += numbers(count, 50 + q)[i];
      const auto place = [&](std::vector<double> v, const char* how) {
        held h = whole(std::move(v));
        h.mesh = "[" + axis("tp", 3, static_cast<int>(r), how) + "]";
        return h;
      };
      b[r].op(0, "s", "reduce", "all_reduce");
      b[r].collective(collective_operation::all_reduce, 3);
      b[r].input("x", place(numbers(count, 50 + r), "partial_sum"));
      b[r].output("y", place(keeps && r == 1 ? numbers(count, 50 + r) : sum, "replicated"));
    }
    return b;
  };
  run_builder a = build(false), b = build(true);
  const comparison c = compare(a.run(), b.run());
  CHECK(first(c) == "y missing-reduction");
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{1});
}

TEST_CASE("sums over other ranks than those that share a tensor are no second reduction") {
  // Norm gradients under tensor parallelism: equal on a pair of ranks, summed over the other pairs.
  const auto build = [](bool world) {
    run_builder b(4);
    for (std::size_t r = 0; r < 4; ++r) {
      const std::vector<double> low = numbers(count, 60), high = numbers(count, 61);
      std::vector<double> mine = r < 2 ? low : high, sum = low;
      for (std::size_t i = 0; i < count; ++i) sum[i] += high[i];
      if (world)
        for (double& v : sum) v *= 2;
      const auto place = [&](std::vector<double> v, const char* dp) {
        held h = whole(std::move(v));
        h.mesh = "[" + axis("tp", 2, static_cast<int>(r % 2), "replicated") + "," +
                 axis("dp", 2, static_cast<int>(r / 2), dp) + "]";
        return h;
      };
      const auto group = [&](const std::string& ranks, std::uint32_t size) {
        b[r].collective(collective_operation::all_reduce, size);
        b.run().ranks[r].collectives.back().ranks = b[r].text(ranks);
      };
      std::vector<double> half = mine;
      for (double& v : half) v /= 2;
      b[r].op(0, "s", "reduce.tp", "all_reduce");
      group(r < 2 ? "[0,1]" : "[2,3]", 2);
      b[r].input("x", whole(half));
      b[r].output("y", place(mine, "partial_sum"));
      b[r].op(0, "s", "reduce.dp", "all_reduce");
      if (world)
        group("[0,1,2,3]", 4);
      else
        group(r % 2 == 0 ? "[0,2]" : "[1,3]", 2);
      b[r].input("x", place(mine, "partial_sum"));
      b[r].output("y", place(sum, "replicated"));
    }
    return b;
  };
  run_builder a;
  a->op(0, "s", "other", "mystery");
  a->output("z", whole({1, 2, 3}));
  run_builder once = build(false), twice = build(true);
  CHECK(first(compare(a.run(), once.run())) == "none");
  CHECK(first(compare(a.run(), twice.run())) == "y duplicate-reduction");
}

TEST_CASE(
    "a reduction to one rank is judged at its root, and what both runs read of a reduction at its writer") {
  const auto build = [](dtype t, double factor) {
    run_builder b(2);
    const std::vector<double> addends[2] = {in(t, numbers(count, 3)), in(t, numbers(count, 4))};
    std::vector<double> sum(count);
    for (std::size_t i = 0; i < count; ++i) sum[i] = factor * (addends[0][i] + addends[1][i]);
    sum = in(t, sum);
    const auto placed = [&](const std::vector<double>& v, std::size_t r, const char* how) {
      held h = whole(v, t);
      h.mesh = "[" + axis("dp", 2, static_cast<int>(r), how) + "]";
      return h;
    };
    for (std::size_t r = 0; r < 2; ++r) {
      const auto op = [&](const char* name, const char* kind, collective_operation what, reduction how) {
        b[r].op(0, "s", name, kind);
        b[r].collective(what, 2, how, t);
      };
      b[r].op(0, "s", "made", "mystery");
      b[r].output("z", placed(in(t, numbers(count, 5)), r, "replicated"));
      op("sum", "all_reduce", collective_operation::all_reduce, reduction::sum);
      b[r].input("x", placed(addends[r], r, "partial_sum"));
      b[r].output("y", placed(sum, r, "replicated"));
      op("root", "reduce", collective_operation::reduce, reduction::sum);
      b.run().ranks[r].collectives.back().peer = 0;
      b[r].input("x", placed(addends[r], r, "partial_sum"));
      if (r == 0) b[r].output("y", whole(sum, t));
      b[r].op(0, "s", "scaled", "scale");
      b[r].input("x", placed(sum, r, "replicated"));
      b[r].scalar("factor", 2);
      for (double& v : sum) v *= 2;
      b[r].output("y", placed(sum, r, "replicated"));
      for (double& v : sum) v /= 2;
    }
    return b;
  };
  run_builder wide = build(dtype::f32, 1), narrow = build(dtype::bf16, 1), wrong = build(dtype::bf16, 1.1);
  const comparison c = compare(wide.run(), narrow.run());
  CHECK(c.verdict == analysis::outcome::agree);
  CHECK(c.totals.undecided == 0);
  CHECK(first(compare(wide.run(), wrong.run())).starts_with("y "));
}
