// Distances from values: small and sharded tensors, exact integers, scales, windows.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"
#include "analysis/measure.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;

namespace {

std::optional<analysis::measured> apart(run_builder& a, run_builder& b) {
  analysis::symbols names;
  const analysis::run_index left(a.run(), names, {}), right(b.run(), names, {});
  analysis::placement_cache placements, others;
  const auto r = merge(left, left.captures().back(), placements);
  const auto t = merge(right, right.captures().back(), others);
  return measure_values(left, r, placements, right, t, others);
}

run_builder one(const held& what, level l = level::tensors) {
  run_builder run(1, l);
  run->op(0, "s", "op", "unknown_kind");
  run->output("y", what);
  return run;
}

template <class Integer>
run_builder integers(const std::vector<Integer>& values, dtype type) {
  run_builder run = one(whole(std::vector<double>(values.size()), type));
  auto payload = std::make_shared<memory_payload>();
  std::vector<std::byte> bytes(values.size() * sizeof(Integer));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  run.run().ranks[0].captures.back().payload = payload->add(type, bytes);
  run.run().ranks[0].payload = payload;
  return run;
}

}  // namespace

TEST_CASE("64-bit integers are compared exactly") {
  using limit = std::numeric_limits<std::int64_t>;
  run_builder a = integers<std::int64_t>({limit::min(), (1LL << 60) + 1, 7}, dtype::i64);
  run_builder b = integers<std::int64_t>({limit::max(), 1LL << 60, 7}, dtype::i64);
  const auto m = apart(a, b);
  REQUIRE(m);
  CHECK(m->apart.different == 2);
  CHECK(m->apart.worst_absolute == 0x1p64);  // 2^64 - 1 as a double
  CHECK(m->apart.worst_index == 0);

  run_builder c = integers<std::int64_t>({(1LL << 60) + 1}, dtype::i64);
  run_builder d = integers<std::int64_t>({(1LL << 60)}, dtype::i64);
  const auto close = apart(c, d);
  REQUIRE(close);
  CHECK(close->apart.different == 1);
  CHECK(close->apart.worst_absolute == 1);

  run_builder e = integers<std::uint64_t>({std::numeric_limits<std::uint64_t>::max()}, dtype::u64);
  run_builder f = integers<std::int64_t>({-1}, dtype::i64);
  CHECK(apart(e, f)->apart.worst_absolute == 0x1p64);
  run_builder g = integers<std::uint64_t>({std::numeric_limits<std::uint64_t>::max()}, dtype::u64);
  CHECK(apart(e, g)->apart.different == 0);
}

TEST_CASE("windows do not change a distance, and the index is global") {
  std::vector<double> x = numbers(200001, 5), y = x;
  y[150000] += 0.5;
  run_builder a = one(whole(x, dtype::f32)), b = one(whole(y, dtype::f32));
  const auto m = apart(a, b);
  REQUIRE(m);
  CHECK(m->apart.compared == 200001);
  CHECK(m->apart.different == 1);
  CHECK(m->apart.worst_index == 150000);
  CHECK(m->apart.worst_absolute == doctest::Approx(0.5));
  double squares = 0;
  for (const double v : x) squares += v * v;
  CHECK(m->apart.relative_l2 == doctest::Approx(0.5 / std::sqrt(squares)));
}

TEST_CASE("shards by rows, columns and pieces are put in their places") {
  std::vector<double> x(7 * 6);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i + 1);
  run_builder a = one(whole(x, dtype::f32, {7, 6}));
  for (const bool columns : {false, true}) {
    run_builder b(2);
    for (int rank = 0; rank < 2; ++rank) {
      const std::int64_t cut = columns ? 5 : 3;
      const std::int64_t r0 = columns || rank == 0 ? 0 : cut, r1 = columns || rank == 1 ? 7 : cut;
      const std::int64_t c0 = columns && rank == 1 ? cut : 0, c1 = columns && rank == 0 ? cut : 6;
      std::vector<double> part;
      for (std::int64_t i = r0; i < r1; ++i)
        for (std::int64_t j = c0; j < c1; ++j) part.push_back(x[static_cast<std::size_t>(i * 6 + j)]);
      b[static_cast<std::size_t>(rank)].op(0, "s", "op", "unknown_kind");
      held h = whole(part, dtype::f32, {r1 - r0, c1 - c0});
      h.begin = {r0, c0};
      h.global = {7, 6};
      h.mesh = "[" + axis("tp", 2, rank, "sharded", columns ? 1 : 0) + "]";
      b[static_cast<std::size_t>(rank)].output("y", h);
    }
    const auto m = apart(a, b);
    REQUIRE(m);
    CHECK(m->apart.different == 0);
    CHECK(m->apart.compared == 42);
  }
}

TEST_CASE("squares of f64 stay in range") {
  run_builder a = one(whole({1e200, 1e-200}, dtype::f64)), b = one(whole({1e200, 2e-200}, dtype::f64));
  CHECK(apart(a, b)->apart.relative_l2 == 0);  // 1e-400
  run_builder c = one(whole({1e-200}, dtype::f64)), d = one(whole({2e-200}, dtype::f64));
  CHECK(apart(c, d)->apart.relative_l2 == doctest::Approx(1));
  run_builder e = one(whole({1e200}, dtype::f64)), f = one(whole({2e200}, dtype::f64));
  CHECK(apart(e, f)->apart.relative_l2 == doctest::Approx(1));
}

TEST_CASE("the table shows values of small tensors, which have no sketch") {
  std::vector<double> x = numbers(100, 1), y = x;
  y[3] += 0x1p-20;
  for (const level l : {level::tensors, level::sketch}) {
    run_builder a = one(whole(x), l), b = one(whole(y), l);
    const auto c = compare(a.run(), b.run());
    REQUIRE(c.worst.size() == 1);
    CHECK(c.worst[0].apart.from_values);
    CHECK(c.worst[0].apart.worst_ulp > 0);
  }
}

TEST_CASE("integers beyond 2^53 that differ by one are no equal scalars and no honest copies") {
  run_builder a = integers<std::int64_t>({(1LL << 60) + 1}, dtype::i64);
  run_builder b = integers<std::int64_t>({(1LL << 60)}, dtype::i64);
  b.run().ranks[0].captures[0].digest0 ^= 1;
  for (run_builder* run : {&a, &b}) {
    run->run().ranks[0].captures[0].role = static_cast<std::uint16_t>(role::scalar);
    run->run().ranks[0].captures[0].sum = 0x1p60;
  }
  CHECK(compare(a.run(), b.run()).verdict == analysis::outcome::differ);
}

TEST_CASE("a constant in the format that its op computes in is no other constant") {
  const auto scaled = [](dtype inner, dtype type, double value) {
    run_builder run;
    model::op_row& op = run->op(0, "s", "f", "mystery");
    op.accumulate_dtype = static_cast<std::uint16_t>(inner);
    run->capture(role::scalar, "eps", whole({value}, type));
    return run;
  };
  const auto verdict = [&](dtype inner, dtype type, double value) {
    return compare(scaled(dtype::f64, dtype::f64, 1e-5).run(), scaled(inner, type, value).run()).verdict;
  };
  using analysis::outcome;
  CHECK(verdict(dtype::f32, dtype::f32, 1e-5F) == outcome::agree);
  CHECK(compare(scaled(dtype::f32, dtype::f32, 1e-5F).run(), scaled(dtype::f64, dtype::f64, 1e-5).run())
            .verdict == outcome::agree);
  // Coarser than the arithmetic it enters, and another value.
  CHECK(verdict(dtype::f64, dtype::f32, 1e-5F) == outcome::differ);
  CHECK(verdict(dtype::f32, dtype::bf16, 1e-5) == outcome::differ);
  CHECK(verdict(dtype::bf16, dtype::bf16, 1e-5) == outcome::differ);
  CHECK(verdict(dtype::f32, dtype::f32, 1.00001e-5F) == outcome::differ);
}

TEST_CASE("ranks that differ where no named axis tells them apart are no replicas") {
  const auto run = [](const std::string& mesh0, const std::string& mesh1) {
    run_builder b(2);
    for (int rank = 0; rank < 2; ++rank) {
      held h = whole(numbers(300, static_cast<std::uint64_t>(rank + 1)));
      h.mesh = rank == 0 ? mesh0 : mesh1;
      b[static_cast<std::size_t>(rank)].op(0, "s", "op", "unknown_kind");
      b[static_cast<std::size_t>(rank)].output("y", h);
    }
    return b;
  };
  run_builder a = run("[" + axis("tp", 1, 0, "replicated") + "]", "[" + axis("tp", 1, 0, "replicated") + "]");
  run_builder b = run("[" + axis("tp", 1, 0, "replicated") + "]", "[" + axis("tp", 1, 0, "replicated") + "]");
  b.run().ranks[0].captures[0].digest0 ^= 1;
  const auto unnamed = compare(a.run(), b.run());
  CHECK(unnamed.verdict == analysis::outcome::incomplete);
  CHECK(unnamed.totals.not_comparable == 1);
  run_builder c = run("[" + axis("tp", 2, 0, "replicated") + "]", "[" + axis("tp", 2, 1, "replicated") + "]");
  run_builder d = run("[" + axis("tp", 2, 0, "replicated") + "]", "[" + axis("tp", 2, 1, "replicated") + "]");
  const auto named = compare(c.run(), d.run());
  CHECK(named.verdict == analysis::outcome::differ);
  REQUIRE(named.first_divergence);
  CHECK(named.first_divergence->cause == "replica-divergence");
}

TEST_CASE("boxes that overlap do not cover a tensor") {
  run_builder b(2);
  for (int rank = 0; rank < 2; ++rank) {
    held h = whole(numbers(300, 3));
    h.begin = {rank * 200};
    h.global = {600};
    h.mesh = "[" + axis("tp", 2, rank, "sharded", 0) + "]";
    b[static_cast<std::size_t>(rank)].op(0, "s", "op", "unknown_kind");
    b[static_cast<std::size_t>(rank)].output("y", h);
  }
  run_builder a = one(whole(numbers(600, 4)));
  CHECK_FALSE(apart(a, b));
}
