// Collectives judged by what they recorded: groups, sums and gathers from sketches, results bit for bit.
#include "analysis/collectives.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;

namespace {

using values = std::vector<double>;
constexpr std::int64_t count = 600;
constexpr int ranks = 4;

// What a rank brings and gets of one collective, and what it records of it.
struct call {
  const char* kind = "all_reduce";
  reduction how = reduction::sum;
  dtype type = dtype::f32, wire = dtype::f32;
  std::vector<std::vector<int>> groups = {{0, 1, 2, 3}};
  std::function<void(int rank, values& result)> spoil = {};
  std::function<void(int rank, model::collective_row&)> record = {};
  std::function<bool(int rank)> joins = {};
};

values brought(int rank) {
  return numbers(count, static_cast<std::uint64_t>(40 + rank));
}

held placed(values v, dtype type, std::int64_t begin, std::int64_t extent, std::int64_t global,
            const std::string& mesh) {
  held h;
  h.values = std::move(v);
  h.type = type;
  h.shape = {extent};
  h.begin = {begin};
  h.global = {global};
  h.mesh = "[" + mesh + "]";
  return h;
}

collective_operation operation_of(const std::string& kind) {
  return kind == "all_reduce"       ? collective_operation::all_reduce
         : kind == "reduce_scatter" ? collective_operation::reduce_scatter
                                    : collective_operation::all_gather;
}

// One run that has the collective, and an op that the other run has as well.
run_builder run_of(const call& c, level l = level::sketch) {
  run_builder b(ranks, l);
  const std::string kind = c.kind;
  for (const std::vector<int>& group : c.groups) {
    const auto n = static_cast<int>(group.size());
    values sum(count, 0);
    for (const int r : group)
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += brought(r)[i];
    if (c.how == reduction::average)
      for (double& x : sum) x /= n;
    std::string list = "[";
    for (const int r : group) list += (list.size() > 1 ? "," : "") + std::to_string(r);
    for (int at = 0; at < n; ++at) {
      const int r = group[static_cast<std::size_t>(at)];
      rank_builder& k = b[static_cast<std::size_t>(r)];
      if (c.joins && !c.joins(r)) continue;
      k.op(0, "s", "together", kind, phase::communication);
      k.collective(operation_of(kind), static_cast<std::uint32_t>(n), c.how, c.wire);
      k.last_collective().ranks = k.text(list + "]");
      k.last_collective().count = count;
      if (c.record) c.record(r, k.last_collective());
      const std::string whole_axis = axis("tp", n, at, "partial_sum"),
                        after = axis("tp", n, at, "replicated");
      const std::string other = "," + axis("dp", ranks / n, r / n, "unknown");
      const std::int64_t part = count / n;
      values result = sum;
      if (kind == "reduce_scatter") result.assign(sum.begin() + at * part, sum.begin() + (at + 1) * part);
      if (kind == "all_gather") {
        result.clear();
        for (const int from : group) {
          const values v = brought(from);
          result.insert(result.end(), v.begin(), v.end());
        }
      }
      if (c.spoil) c.spoil(r, result);
      const std::string shards = axis("tp", n, at, "sharded", 0) + other;
      if (kind == "all_gather") {
        k.input("x", placed(brought(r), c.type, at * count, count, n * count, shards));
        k.output("y", placed(result, c.type, 0, n * count, n * count, after + other));
      } else {
        k.input("x", placed(brought(r), c.type, 0, count, count, whole_axis + other));
        if (kind == "reduce_scatter")
          k.output("y", placed(result, c.type, at * part, part, count, shards));
        else
          k.output("y", placed(result, c.type, 0, count, count, after + other));
      }
    }
  }
  for (std::size_t r = 0; r < ranks; ++r) {
    b[r].op(0, "s", "other", "mystery");
    b[r].output("z", whole({1, 2, 3}));
  }
  return b;
}

run_builder without() {
  run_builder a(1, level::sketch);
  a->op(0, "s", "other", "mystery");
  a->output("z", whole({1, 2, 3}));
  return a;
}

const analysis::finding& first(const analysis::comparison& c) {
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "together");
  CHECK(c.first_divergence->brought_by == analysis::bringer::communication);
  return *c.first_divergence;
}

const std::vector<std::vector<int>> pairs = {{0, 1}, {2, 3}};

}  // namespace

TEST_CASE("honest sums, averages, scatters and gathers of any group are sound from sketches") {
  for (const char* kind : {"all_reduce", "reduce_scatter", "all_gather"}) {
    for (const auto& groups : {std::vector<std::vector<int>>{{0, 1, 2, 3}}, pairs}) {
      for (const reduction how : {reduction::sum, reduction::average}) {
        for (const dtype type : {dtype::f32, dtype::bf16}) {
          call c;
          c.kind = kind;
          c.how = how;
          c.type = c.wire = type;
          c.groups = groups;
          run_builder b = run_of(c), a = without();
          INFO(kind << " " << groups.size() << " " << name_of(type));
          CHECK(compare(a.run(), b.run()).verdict == analysis::outcome::agree);
        }
      }
    }
  }
}

TEST_CASE("a result that is off on one rank of one group is named with the rank, from sketches") {
  for (const char* kind : {"all_reduce", "all_gather"}) {
    call c;
    c.kind = kind;
    c.groups = pairs;
    c.spoil = [](int rank, values& y) {
      if (rank == 2)
        for (std::size_t i = 0; i < y.size(); ++i) y[i] *= 1 + (i % 2 == 0 ? 1e-3 : -1e-3);
    };
    run_builder b = run_of(c), a = without();
    const auto found = compare(a.run(), b.run());
    // Bit for bit, the second of two is the one that differs.
    CHECK(first(found).where.ranks == std::vector<std::int32_t>{3});
    CHECK(first(found).cause == "replica-divergence");
  }
  call c;
  c.groups = pairs;
  c.spoil = [](int rank, values& y) {
    if (rank >= 2)
      for (double& x : y) x *= 0.999;
  };
  run_builder b = run_of(c), a = without();
  const auto found = compare(a.run(), b.run());
  CHECK(first(found).symptom == "invariant");
  CHECK(first(found).where.ranks == std::vector<std::int32_t>{2, 3});
}

TEST_CASE("parts that are scattered or gathered wrongly are found from sketches") {
  call scatter;
  scatter.kind = "reduce_scatter";
  scatter.spoil = [](int rank, values& y) {
    if (rank == 1)
      for (double& x : y) x *= 1.01;
  };
  call gather;
  gather.kind = "all_gather";
  gather.spoil = [](int, values& y) { std::rotate(y.begin(), y.begin() + count, y.end()); };
  call average;
  average.how = reduction::average;
  average.spoil = [](int, values& y) {
    for (double& x : y) x *= ranks;
  };
  for (const call* one : {&scatter, &gather, &average}) {
    run_builder b = run_of(*one), a = without();
    const auto found = compare(a.run(), b.run());
    CHECK(first(found).symptom == "invariant");
  }
}

TEST_CASE(
    "a sum beyond the wire is the wire's fault, infinite or at its maximum, with values and from sketches") {
  for (const char* kind : {"all_reduce", "reduce_scatter"}) {
    for (const level l : {level::sketch, level::tensors}) {
      call c;
      c.kind = kind;
      c.spoil = [](int, values& y) {
        for (double& x : y) x = std::copysign(3e4, x);
      };
      run_builder wide = run_of(c, l);
      c.type = c.wire = dtype::f16;
      c.spoil = [](int, values& y) {
        for (double& x : y) x = std::copysign(HUGE_VAL, x);
      };
      run_builder narrow = run_of(c, l);
      const auto found = compare(wide.run(), narrow.run());
      INFO(kind);
      CHECK(first(found).symptom == "overflow");
      CHECK(first(found).cause == "low-precision-communication");
    }
  }
}

TEST_CASE("ranks that call it otherwise, or not at all, are named") {
  call counts;
  counts.record = [](int rank, model::collective_row& row) { row.count = rank == 2 ? 599 : count; };
  call formats;
  formats.record = [](int rank, model::collective_row& row) {
    if (rank == 2) row.wire_dtype = static_cast<std::uint16_t>(dtype::bf16);
  };
  for (const call* one : {&counts, &formats}) {
    run_builder b = run_of(*one), a = without(), again = run_of(*one);
    for (run_builder* reference : {&a, &again}) {
      const auto found = compare(reference->run(), b.run());
      CHECK(first(found).rule == "ND612");
      CHECK(first(found).where.ranks == std::vector<std::int32_t>{2});
    }
  }
  call absent;
  absent.joins = [](int rank) { return rank != 3; };
  run_builder b = run_of(absent), a = without();
  // It records other collectives.
  b[3].op(0, "s", "later", "all_reduce", phase::communication);
  b[3].collective(collective_operation::all_reduce, 1);
  b[3].last_collective().sequence = 9;
  b[3].last_collective().ranks = b[3].text("[3]");
  b[3].input("x", whole(brought(3)));
  b[3].output("y", whole(brought(3)));
  const auto found = compare(a.run(), b.run());
  CHECK(first(found).rule == "ND612");
  CHECK(first(found).where.ranks == std::vector<std::int32_t>{3});
  // A rank that died may have been about to.
  b.run().ranks[3].closed = false;
  const auto died = compare(a.run(), b.run());
  CHECK((!died.first_divergence || died.first_divergence->rule != "ND612"));
}

TEST_CASE(
    "ranks that reach the collectives of two groups in another order, under one name, are no mismatch") {
  run_builder b(2, level::sketch), a(2, level::sketch);
  const auto one = [](rank_builder& k, const std::string& communicator, std::uint64_t sequence, double x) {
    k.op(0, "s", "reduce", "all_reduce", phase::communication);
    k.collective(collective_operation::all_reduce, communicator == "alone" ? 1 : 2);
    k.last_collective().communicator = k.text(communicator);
    k.last_collective().sequence = sequence;
    k.last_collective().count = 300;
    const values brought(300, x), sum(300, communicator == "alone" ? x : 3);
    k.input("x", whole(brought));
    k.output("y", whole(sum));
  };
  for (run_builder* run : {&a, &b}) {
    for (int r = 0; r < 2; ++r) {
      rank_builder& k = (*run)[static_cast<std::size_t>(r)];
      const std::string alone = "[" + std::to_string(r) + "]";
      const auto own = [&] {
        one(k, "alone", 1, 7);
        k.last_collective().ranks = k.text(alone);
      };
      if (r == 0) own();
      one(k, "both", 1, r + 1);
      k.last_collective().ranks = k.text("[0,1]");
      if (r == 1) own();
    }
  }
  const auto c = compare(a.run(), b.run());
  CHECK_FALSE(c.first_divergence);
}
