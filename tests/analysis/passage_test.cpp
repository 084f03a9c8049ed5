// What lies between two ops, ops that run again, and choices: what is reported, and what is not.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::comparison;
using analysis::outcome;

namespace {

constexpr std::size_t count = 240;

std::string first(const comparison& c) {
  return c.first_divergence ? c.first_divergence->where.tensor + " " + c.first_divergence->cause : "none";
}

double number(const analysis::finding& f, const std::string& name) {
  const auto at = std::ranges::find(f.evidence, name, &analysis::evidence_list::value_type::first);
  return at == f.evidence.end() ? NAN : at->second;
}

bool told(const comparison& c, const std::string& cause) {
  return std::ranges::any_of(c.findings, [&](const auto& f) { return f.cause == cause; });
}

std::vector<double> in(dtype t, std::vector<double> v) {
  for (double& x : v) x = decode(t, encode(t, x));
  return v;
}

// y = silu(x) in one format, and square(y) read in another after `between`.
struct two_ops {
  dtype first = dtype::f32, second = dtype::f32;
  bool captures_first = true;
  std::function<void(std::vector<double>&)> between = {};

  [[nodiscard]] run_builder run(level keep = level::tensors) const {
    run_builder b(1, keep);
    std::vector<double> x = in(first, numbers(count, 5)), y = x;
    for (double& v : y) v = v / (1 + std::exp(-v));
    y = in(first, y);
    const auto types = [](model::op_row& row, dtype t) {
      row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(t);
    };
    if (captures_first) {
      types(b->op(0, "s", "act", "silu"), first);
      b->input("x", whole(x, first));
      b->output("y", whole(y, first));
    }
    std::vector<double> read = y;
    if (between) between(read);
    read = in(second, read);
    std::vector<double> z = read;
    for (double& v : z) v *= v;
    types(b->op(0, "s", "energy", "square"), second);
    b->input("x", whole(read, second));
    b->output("y", whole(z, second));
    return b;
  }
};

}  // namespace

TEST_CASE("a cast that nobody captured is no corruption") {
  run_builder a = two_ops{}.run();
  for (const dtype low : {dtype::bf16, dtype::f16, dtype::f8e5m2}) {
    run_builder b = two_ops{.second = low}.run();
    const comparison c = compare(a.run(), b.run());
    CHECK(first(c) == "none");
    CHECK(c.verdict == outcome::agree);
  }
}

TEST_CASE("one element that changes on the way is found, in any format") {
  for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
    run_builder a = two_ops{}.run();
    run_builder b = two_ops{.first = t, .second = t, .between = [](auto& v) { v[77] = 4 * v[77] + 1; }}.run();
    const comparison c = compare(a.run(), b.run());
    CHECK(first(c) == "x storage-corruption");
    REQUIRE(c.first_divergence);
    CHECK(number(*c.first_divergence, "changed_elements") == 1);
    CHECK(number(*c.first_divergence, "changed_worst_index") == 77);
  }
}

TEST_CASE("a writer that the test did not capture accuses nobody") {
  run_builder a = two_ops{}.run();
  run_builder b = two_ops{.first = dtype::bf16, .second = dtype::bf16, .captures_first = false}.run();
  const comparison c = compare(a.run(), b.run());
  CHECK(first(c) == "none");
  CHECK(c.verdict == outcome::incomplete);  // the op that only the reference has
}

TEST_CASE("a recomputation: the same, in another order, and something else") {
  const auto build = [](std::function<void(std::vector<double>&)> again, bool recomputes, const char* kind) {
    run_builder b;
    for (int pass = 0; pass < (recomputes ? 2 : 1); ++pass) {
      std::vector<double> x = in(dtype::bf16, numbers(32 * count, 6)), y(count, 0);
      for (std::size_t i = 0; i < x.size(); ++i) y[i % count] += x[i];
      if (pass == 1 && again) again(y);
      model::op_row& row = b->op(0, "s", "load", kind, pass == 0 ? phase::forward : phase::recompute);
      row.reduction_length = 32;
      b->input("x", whole(x, dtype::bf16, {32, count}));
      b->output("y", whole(y));
    }
    return b;
  };
  for (const char* kind : {"sum", "mystery"}) {
    run_builder a = build({}, false, kind), same = build({}, true, kind);
    const comparison fine = compare(a.run(), same.run());
    CHECK(first(fine) == "none");
    CHECK_FALSE(told(fine, "nondeterministic"));
    run_builder other = build(
        [](auto& y) {
          for (double& v : y) v *= 1 + 0x1p-23;
        },
        true, kind);
    const comparison order = compare(a.run(), other.run());
    CHECK(first(order) == "none");
    CHECK(told(order, "nondeterministic"));
    run_builder drawn = build(
        [](auto& y) {
          for (std::size_t i = 0; i < y.size(); i += 5) y[i] = 0;
        },
        true, kind);
    CHECK(first(compare(a.run(), drawn.run())) == "y recompute-mismatch");
  }
}

TEST_CASE("a recomputation that reads something else") {
  const auto build = [](double change) {
    run_builder b;
    for (const phase p : {phase::forward, phase::recompute}) {
      std::vector<double> w = numbers(count, 7);
      if (p == phase::recompute) w[3] += change;
      std::vector<double> y = w;
      for (double& v : y) v = in(dtype::f32, {v * v})[0];
      b->op(0, "s", "gate", "square", p);
      b->weight("w", whole(w));
      b->output("y", whole(y));
    }
    return b;
  };
  run_builder a = build(0), b = build(0), c = build(0.5);
  CHECK(first(compare(a.run(), b.run())) == "none");
  CHECK(first(compare(a.run(), c.run())) == "w recompute-mismatch");
}

TEST_CASE("micro-batches that are recomputed in another order are matched by what they read") {
  const auto build = [](bool recomputes, double change) {
    run_builder b;
    for (const bool again : {false, true}) {
      if (again && !recomputes) continue;
      for (const std::uint64_t n : {1U, 2U, 3U}) {
        std::vector<double> x = numbers(count, 90 + (again ? 4 - n : n)), y = x;
        for (double& v : y) v = in(dtype::f32, {v * v})[0];
        if (again && n == 2) y[7] += change;
        b->op(0, "s", "gate", "square", again ? phase::recompute : phase::forward);
        b->input("x", whole(x));
        b->output("y", whole(y));
      }
    }
    return b;
  };
  // The call number counts ops of one name within a phase.
  run_builder a = build(false, 0), b = build(true, 0), c = build(true, 1);
  CHECK(first(compare(a.run(), b.run())) == "none");
  CHECK(first(compare(a.run(), c.run())) == "y recompute-mismatch");
}

TEST_CASE("choices that flip within the error of their inputs are benign, and the margin is told") {
  const auto build = [](dtype t, bool wrong) {
    run_builder b;
    std::vector<double> x = numbers(12 * 20, 8);
    x[5 * 20 + 3] = 2.5001;
    x[5 * 20 + 11] = 2.5;  // one number in bf16
    x = in(t, x);
    std::vector<double> ids(12);
    for (std::size_t r = 0; r < 12; ++r) {
      std::size_t best = 0;
      for (std::size_t i = 1; i < 20; ++i)
        if (x[r * 20 + i] >= x[r * 20 + best]) best = i;
      ids[r] = static_cast<double>(wrong && r == 7 ? (best + 1) % 20 : best);
    }
    b->op(0, "s", "route", "argmax").output_dtype = static_cast<std::uint16_t>(dtype::i32);
    b->input("x", whole(x, t, {12, 20}));
    b->output("ids", whole(ids, dtype::i32, {12}));
    return b;
  };
  run_builder a = build(dtype::f32, false), b = build(dtype::bf16, false), c = build(dtype::bf16, true);
  const comparison flips = compare(a.run(), b.run());
  CHECK(flips.verdict == outcome::agree);
  REQUIRE(told(flips, "decision-flip"));
  for (const analysis::finding& f : flips.findings) {
    if (f.cause != "decision-flip") continue;
    CHECK(f.benign);
    CHECK(number(f, "flips") == 1);
    CHECK(number(f, "margin") == 0);
    CHECK(number(f, "input_error") == doctest::Approx(1e-4).epsilon(0.01));
  }
  CHECK(first(compare(a.run(), c.run())) == "ids open");
}

TEST_CASE("a constant as fp32 holds it is the same constant; as bf16 holds it, it is not") {
  const auto build = [](double eps, dtype t) {
    run_builder b;
    std::vector<double> x = in(t, numbers(count, 9)), y = x;
    double squares = 0;
    for (const double v : x) squares += v * v;
    for (double& v : y) v /= std::sqrt(squares / count + eps);
    model::op_row& row = b->op(0, "s", "norm", "rms_norm");
    row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(t);
    b->input("x", whole(x, t));
    b->weight("gamma", whole(std::vector<double>(count, 1.0), t));
    b->scalar("eps", eps);
    b->output("y", whole(y, t));
    return b;
  };
  run_builder a = build(2e-3, dtype::f32), b = build(static_cast<float>(2e-3), dtype::bf16);
  CHECK(first(compare(a.run(), b.run())) == "none");
  run_builder low = build(decode(dtype::bf16, encode(dtype::bf16, 2e-3)), dtype::bf16);
  CHECK(first(compare(a.run(), low.run())) == "eps constant-precision");
  run_builder other = build(2.01e-3, dtype::bf16);
  CHECK(first(compare(a.run(), other.run())) == "eps setting-differs");
}

TEST_CASE("at level sketch a rounding among subnormal numbers is no other input") {
  const auto build = [](dtype t, std::uint64_t seed) {
    run_builder b(1, level::sketch);
    std::vector<double> x = numbers(3000, seed);
    for (double& v : x) v *= 4e-5;
    b->op(0, "s", "fold", "mystery");
    b->input("x", whole(in(t, x), t));
    b->output("y", whole(std::vector<double>{1.0}));
    return b;
  };
  run_builder a = build(dtype::f32, 70), b = build(dtype::f16, 70), c = build(dtype::f16, 71);
  CHECK(first(compare(a.run(), b.run())) == "none");
  CHECK(first(compare(a.run(), c.run())) == "x input-differs");
}

TEST_CASE("the same numbers at other places are told from other numbers, in any format and level") {
  for (const level keep : {level::tensors, level::sketch}) {
    for (const dtype t : {dtype::f32, dtype::bf16, dtype::f16}) {
      const auto build = [keep](dtype type, std::uint64_t seed, std::size_t turned) {
        run_builder b(1, keep);
        std::vector<double> w = numbers(3000, seed);
        std::rotate(w.begin(), w.begin() + static_cast<std::ptrdiff_t>(turned), w.end());
        b->op(0, "s", "proj", "mystery");
        b->weight("w", whole(in(type, w), type));
        b->output("y", whole(std::vector<double>{1.0}));
        return b;
      };
      run_builder a = build(dtype::f32, 80, 0), turned = build(t, 80, 1500), other = build(t, 81, 0);
      CHECK(first(compare(a.run(), turned.run())) == "w shard-mismatch");
      CHECK(first(compare(a.run(), other.run())) == "w input-differs");
    }
  }
}

namespace {

// Two experts whose weights the last op of a step updates and the next step reads; in step 2 the first may
// read those of the second.
run_builder experts(bool crossed, bool alike) {
  run_builder b;
  for (unsigned step = 0; step < 3; ++step) {
    const auto weights = [&](unsigned expert, unsigned s) {
      return whole(numbers(count, 7 * s + (alike ? 1 : expert)));
    };
    for (unsigned expert = 1; expert <= 2; ++expert) {
      b->op(step, "expert." + std::to_string(expert), "use", "mystery");
      b->weight("w", weights(crossed && step == 2 && expert == 1 ? 2 : expert, step));
    }
    for (unsigned expert = 1; expert <= 2; ++expert) {
      b->op(step, "expert." + std::to_string(expert), "update", "mystery", phase::optimizer);
      b->output("w", weights(expert, step + 1));
    }
  }
  return b;
}

}  // namespace

TEST_CASE("a weight that another op wrote is told, unless both wrote the same") {
  run_builder right = experts(false, false), wrong = experts(true, false);
  const comparison c = compare(right.run(), wrong.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->cause == "shard-mismatch");
  CHECK(c.first_divergence->where.scope == "expert.1");
  CHECK(c.first_divergence->where.step == 2);
  run_builder same = experts(false, true), crossed = experts(true, true);
  CHECK(compare(same.run(), crossed.run()).verdict == outcome::agree);
}
