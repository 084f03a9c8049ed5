// Runs of several ranks against one: shards in any layout, replicas, partial sums, missing ranks.
#include <doctest/doctest.h>

#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::int64_t rows = 8, columns = 12;

// Rows [r0, r1) and columns [c0, c1) of a [rows, columns] tensor, placed on a mesh.
held part(const std::vector<double>& all, std::int64_t r0, std::int64_t r1, std::int64_t c0, std::int64_t c1,
          const std::string& mesh) {
  held h;
  for (std::int64_t i = r0; i < r1; ++i) {
    for (std::int64_t j = c0; j < c1; ++j) h.values.push_back(all[static_cast<std::size_t>(i * columns + j)]);
  }
  h.shape = {r1 - r0, c1 - c0};
  h.begin = {r0, c0};
  h.global = {rows, columns};
  h.mesh = mesh;
  return h;
}

const std::vector<double> data = numbers(rows * columns, 7);

run_builder one_rank() {
  run_builder a;
  a->op(0, "s", "f", "mystery");
  a->output("y", whole(data, dtype::f32, {rows, columns}));
  return a;
}

}  // namespace

TEST_CASE("shards by rows, by columns and in a grid equal the whole") {
  run_builder a = one_rank();
  run_builder by_rows(2), by_columns(3), grid(4);
  for (int r = 0; r < 2; ++r) {
    by_rows[static_cast<std::size_t>(r)].op(0, "s", "f", "mystery");
    by_rows[static_cast<std::size_t>(r)].output(
        "y", part(data, 4 * r, 4 * r + 4, 0, columns, "[" + axis("tp", 2, r, "sharded", 0) + "]"));
  }
  for (int r = 0; r < 3; ++r) {
    by_columns[static_cast<std::size_t>(r)].op(0, "s", "f", "mystery");
    by_columns[static_cast<std::size_t>(r)].output(
        "y", part(data, 0, rows, 4 * r, 4 * r + 4, "[" + axis("tp", 3, r, "sharded", 1) + "]"));
  }
  for (int r = 0; r < 4; ++r) {
    grid[static_cast<std::size_t>(r)].op(0, "s", "f", "mystery");
    const int i = r / 2, j = r % 2;
    // Uneven on purpose: 5 and 7 columns.
    grid[static_cast<std::size_t>(r)].output(
        "y", part(data, 4 * i, 4 * i + 4, j ? 5 : 0, j ? columns : 5,
                  "[" + axis("dp", 2, i, "sharded", 0) + "," + axis("tp", 2, j, "sharded", 1) + "]"));
  }
  for (run_builder* b : {&by_rows, &by_columns, &grid}) {
    const auto c = compare(a.run(), b->run());
    CHECK(c.verdict == outcome::agree);
    CHECK(c.totals.equal == 1);
    const auto across = compare(by_rows.run(), b->run());
    CHECK(across.totals.equal == 1);
  }
}

TEST_CASE("a wrong shard differs, a missing one is not comparable") {
  run_builder a = one_rank(), b(2);
  std::vector<double> wrong = data;
  wrong[50] += 0.5;
  for (int r = 0; r < 2; ++r) {
    b[static_cast<std::size_t>(r)].op(0, "s", "f", "mystery");
    b[static_cast<std::size_t>(r)].output(
        "y", part(wrong, 4 * r, 4 * r + 4, 0, columns, "[" + axis("tp", 2, r, "sharded", 0) + "]"));
  }
  const auto c = compare(a.run(), b.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.tensor == "y");
  b.run().ranks.pop_back();
  b.run().missing = {1};
  CHECK(compare(a.run(), b.run()).verdict == outcome::incomplete);
}

TEST_CASE("replicas count once; the first that differs is named with its rank") {
  const auto mesh = [](std::size_t r) {
    return "[" + axis("dp", 3, static_cast<int>(r), "replicated") + "]";
  };
  run_builder a = one_rank(), b(3);
  for (std::size_t r = 0; r < 3; ++r) {
    b[r].op(0, "s", "f", "mystery");
    b[r].output("y", part(data, 0, rows, 0, columns, mesh(r)));
  }
  CHECK(compare(a.run(), b.run()).totals.equal == 1);
  run_builder d(3);
  for (std::size_t r = 0; r < 3; ++r) {
    std::vector<double> own = data;
    if (r == 2) own[3] += 1e-3;
    d[r].op(0, "s", "f", "mystery");
    d[r].output("y", part(own, 0, rows, 0, columns, mesh(r)));
  }
  const auto c = compare(a.run(), d.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->cause == "replica-divergence");
  CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{2});
}

TEST_CASE("partial sums add up to the whole") {
  run_builder a = one_rank(), b(2, level::sketch);
  std::vector<double> left = numbers(rows * columns, 9), right = data;
  for (std::size_t i = 0; i < data.size(); ++i) right[i] -= left[i];
  for (int r = 0; r < 2; ++r) {
    held h = part(r ? right : left, 0, rows, 0, columns, "[" + axis("tp", 2, r, "partial_sum") + "]");
    h.type = dtype::f64;
    b[static_cast<std::size_t>(r)].op(0, "s", "f", "mystery");
    b[static_cast<std::size_t>(r)].output("y", h);
  }
  const auto c = compare(a.run(), b.run());
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.within == 1);
}

TEST_CASE("addends that each rank rounds add up to within the rounding of all of them") {
  for (const level l : {level::tensors, level::sketch}) {
    run_builder a(2, l), b(2, l), wrong(2, l);
    const std::int64_t n = 40;  // a sum that cancels, and more than 256 elements
    std::vector<double> left = numbers(rows * columns * n, 9), right = left;
    for (std::size_t i = 0; i < left.size(); ++i) right[i] = 1e-3 * static_cast<double>(i % 5) - left[i];
    const auto place = [&](run_builder& run, dtype type, std::size_t rank, double by) {
      held h;
      h.values = rank == 0 ? left : right;
      for (double& v : h.values) v *= by;
      h.type = type;
      h.shape = h.global = {static_cast<std::int64_t>(left.size())};
      h.begin = {0};
      h.mesh = "[" + axis("dp", 2, static_cast<int>(rank), "partial_sum") + "]";
      run[rank].op(0, "s", "f", "mystery");
      run[rank].input("x", h);
    };
    for (const std::size_t rank : {0U, 1U}) {
      place(a, dtype::f64, rank, 1);
      place(b, dtype::bf16, rank, 1);
      place(wrong, dtype::bf16, rank, rank == 0 ? 1.1 : 1);
    }
    CHECK(compare(a.run(), b.run()).totals.within == 1);
    CHECK(compare(a.run(), wrong.run()).verdict == outcome::differ);
  }
}

TEST_CASE("ranks without placements are rank-local: equal ones compare, others do not") {
  run_builder a = one_rank(), b(2);
  for (std::size_t r = 0; r < 2; ++r) {
    b[r].op(0, "s", "f", "mystery");
    b[r].output("y", whole(data, dtype::f32, {rows, columns}));
  }
  CHECK(compare(a.run(), b.run()).totals.equal == 1);
  run_builder d(2);
  for (std::size_t r = 0; r < 2; ++r) {
    d[r].op(0, "s", "f", "mystery");
    d[r].output("y", whole(numbers(rows * columns, r), dtype::f32, {rows, columns}));
  }
  const auto c = compare(a.run(), d.run());
  CHECK(c.verdict == outcome::incomplete);
  CHECK(c.totals.not_comparable == 1);
}

TEST_CASE("collectives: honest ones are auxiliary, a skipped and a repeated one are named") {
  const auto build = [](int times) {
    run_builder b(2);
    std::vector<double> addends[2] = {numbers(rows * columns, 3), numbers(rows * columns, 4)};
    std::vector<double> sum(data.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = addends[0][i] + addends[1][i];
    for (int r = 0; r < 2; ++r) {
      rank_builder& k = b[static_cast<std::size_t>(r)];
      std::vector<double> result = times == 0 ? addends[r] : sum;
      for (double& x : result) x *= times == 2 ? 2 : 1;
      k.op(0, "s", "reduce", "all_reduce").order = static_cast<std::uint16_t>(reduction_order::ring);
      k.collective(collective_operation::all_reduce, 2);
      k.input("x", part(addends[r], 0, rows, 0, columns, "[" + axis("tp", 2, r, "partial_sum") + "]"));
      k.output("y", part(result, 0, rows, 0, columns, "[" + axis("tp", 2, r, "replicated") + "]"));
    }
    return b;
  };
  run_builder a;
  a->op(0, "s", "other", "mystery");
  a->output("z", whole({1, 2, 3}));
  const auto with_other = [](run_builder b) {
    for (std::size_t r = 0; r < 2; ++r) {
      b[r].op(0, "s", "other", "mystery");
      b[r].output("z", whole({1, 2, 3}));
    }
    return b;
  };
  run_builder honest = with_other(build(1)), skipped = with_other(build(0)), repeated = with_other(build(2));
  const auto good = compare(a.run(), honest.run());
  CHECK(good.verdict == outcome::agree);
  CHECK(good.totals.test.auxiliary == 2);
  const auto missing = compare(a.run(), skipped.run());
  REQUIRE(missing.first_divergence);
  CHECK(missing.first_divergence->cause == "missing-reduction");
  CHECK(missing.first_divergence->where.op == "reduce");
  const auto twice = compare(a.run(), repeated.run());
  REQUIRE(twice.first_divergence);
  CHECK(twice.first_divergence->cause == "duplicate-reduction");
}

TEST_CASE("ranks without placements are equal when each is; otherwise not comparable") {
  const auto build = [](double change) {
    run_builder b(2);
    for (std::size_t r = 0; r < 2; ++r) {
      std::vector<double> own = numbers(300, 20 + r);
      if (r == 1) own[3] += change;
      b[r].op(0, "s", "f", "mystery");
      b[r].output("y", whole(own));
    }
    return b;
  };
  run_builder a = build(0), b = build(0), c = build(0.5);
  const auto same = compare(a.run(), b.run());
  CHECK(same.verdict == outcome::agree);
  CHECK(same.totals.equal == 1);
  const auto other = compare(a.run(), c.run());
  CHECK(other.verdict == outcome::incomplete);
  CHECK(other.totals.not_comparable == 1);
}

TEST_CASE("a rank that holds the shard of another is a shard mismatch, not another input") {
  run_builder a = one_rank(), b(2);
  a->op(0, "s", "g", "mystery");
  a->weight("w", part(data, 0, rows, 0, columns, ""));
  for (std::size_t r = 0; r < 2; ++r) {
    const auto at = static_cast<std::int64_t>(4 * r);
    const std::string mesh = "[" + axis("tp", 2, static_cast<int>(r), "sharded", 0) + "]";
    b[r].op(0, "s", "f", "mystery");
    b[r].output("y", part(data, at, at + 4, 0, columns, mesh));
    held wrong = part(data, 0, 4, 0, columns, mesh);
    wrong.begin = {at, 0};
    b[r].op(0, "s", "g", "mystery");
    b[r].weight("w", wrong);
  }
  const auto c = compare(a.run(), b.run());
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.tensor == "w");
  CHECK(c.first_divergence->cause == "shard-mismatch");
}

namespace {

// Three steps on two ranks: an op writes its rank's half of a weight, which the next step reads. `read` may
// change what a rank reads in the last step.
template <class F>
analysis::comparison reads_of_last_step(const F& read) {
  run_builder a, b(2);
  for (int step = 0; step < 3; ++step) {
    const std::vector<double> w = numbers(rows * columns, 20U + static_cast<unsigned>(step));
    const std::vector<double> next = numbers(rows * columns, 21U + static_cast<unsigned>(step));
    a->op(step, "s", "use", "mystery");
    a->weight("w", whole(w, dtype::f32, {rows, columns}));
    a->op(step, "s", "update", "mystery");
    a->output("w", whole(next, dtype::f32, {rows, columns}));
    for (int r = 0; r < 2; ++r) {
      const auto half = [&](const std::vector<double>& all, int which) {
        held h = part(all, 4 * which, 4 * which + 4, 0, columns, "");
        h.begin = {4 * r, 0};
        h.mesh = "[" + axis("tp", 2, r, "sharded", 0) + "]";
        return h;
      };
      rank_builder& rank = b[static_cast<std::size_t>(r)];
      rank.op(step, "s", "use", "mystery");
      rank.weight("w", step == 2 ? read(half, w, r) : half(w, r));
      rank.op(step, "s", "update", "mystery");
      rank.output("w", half(next, r));
    }
  }
  return compare(a.run(), b.run());
}

}  // namespace

TEST_CASE("a weight that nobody wrote is seen on any rank, the first one too") {
  for (const int wrong : {0, 1}) {
    const auto c = reads_of_last_step([wrong](const auto& half, std::vector<double> w, int r) {
      if (r == wrong) w = numbers(rows * columns, 99);
      return half(w, r);
    });
    REQUIRE(c.first_divergence);
    CHECK(c.first_divergence->where.op == "use");
    CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{wrong});
  }
}

TEST_CASE("ranks that read each other's weights are all named") {
  const auto c = reads_of_last_step(
      [](const auto& half, const std::vector<double>& w, int r) { return half(w, 1 - r); });
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->cause == "shard-mismatch");
  CHECK(c.first_divergence->where.ranks == std::vector<std::int32_t>{0, 1});
}
