// One run alone: health, faults that need no reference, totals, and what to record next.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/check.hpp"
#include "analysis/next_capture.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::condition;

namespace {

analysis::checkup checked(run_builder& run, const analysis::options& how = {}) {
  const analysis::checkup c = check(run.run(), how);
  const analysis::check_totals& t = c.totals;
  CHECK(t.captures == t.in_order + t.faulty + t.undecided + t.given + t.dropped);
  return c;
}

std::string first(const analysis::checkup& c) {
  if (!c.first_divergence) return "none";
  const analysis::finding& f = *c.first_divergence;
  return f.where.scope + "/" + f.where.op + " " + f.symptom + " " + f.cause;
}

tiny spoiled(dtype type, std::int64_t step, int layer, const std::string& op,
             std::function<void(std::vector<double>&)> what) {
  tiny t{.type = type};
  t.spoil = [=](std::int64_t s, int l, const std::string& o, std::vector<double>& v) {
    if (s == step && l == layer && o == op) what(v);
  };
  return t;
}

// Softmax of `rows` rows of `width`, every row times `factor`.
run_builder softmax(dtype type, double factor, level l, int empty_rows = 0) {
  constexpr std::size_t rows = 12, width = 40;
  const std::vector<double> x = rounded(numbers(rows * width, 3), type);
  std::vector<double> p(x.size());
  for (std::size_t r = 0; r < rows; ++r) {
    double sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += std::exp(x[r * width + i]);
    for (std::size_t i = 0; i < width; ++i)
      p[r * width + i] =
          r < static_cast<std::size_t>(empty_rows) ? 0 : factor * std::exp(x[r * width + i]) / sum;
  }
  run_builder run(1, l);
  model::op_row& row = run->op(0, "attn", "weights", "softmax");
  row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
  run->input("x", whole(x, type, {rows, width}));
  run->output("p", whole(p, type, {rows, width}));
  return run;
}

}  // namespace

TEST_CASE("honest runs are healthy, in every format, with everything judged") {
  for (const dtype type : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16}) {
    run_builder run = tiny{.type = type}.run();
    const auto c = checked(run);
    CAPTURE(name_of(type));
    CHECK(first(c) == "none");
    CHECK(c.verdict == condition::healthy);
    CHECK(c.health == analysis::health::ok);
    CHECK(c.totals.undecided == 0);
    CHECK(c.totals.captures == 2 * 3 * 8);
    // The first input of each step and the weights come from outside.
    CHECK(c.totals.given == 2 + 3 * 2 + 2);
    CHECK(!c.next_capture);
  }
}

TEST_CASE("an op that cuts is named without a reference") {
  run_builder run = spoiled(dtype::bf16, 1, 1, "residual", [](std::vector<double>& v) {
                      for (double& x : v)
                        x = std::ldexp(std::trunc(std::ldexp(x, 7 - std::ilogb(x))), std::ilogb(x) - 7);
                    }).run();
  const auto c = checked(run);
  CHECK(c.verdict == condition::fault);
  CHECK(first(c) == "decoder.layer.1/residual bias truncating-cast");
  CHECK(c.totals.faulty == 1);
  CHECK(c.roots.size() == 1);
}

TEST_CASE("the producer of a NaN is named, not what passes it on") {
  run_builder run = spoiled(dtype::f32, 1, 0, "act", [](std::vector<double>& v) {
                      v[3] = std::numeric_limits<double>::quiet_NaN();
                    }).run();
  const auto c = checked(run);
  CHECK(c.verdict == condition::fault);
  CHECK(c.health == analysis::health::nonfinite);
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->where.op == "act");
  CHECK(c.nonfinite_origin->where.scope == "decoder.layer.0");
  CHECK(c.roots.size() == 1);
}

TEST_CASE("a NaN that comes with an input is a fault of the input") {
  tiny t;
  t.inputs = [](std::int64_t step, int, const std::string&, std::vector<double>& v) {
    if (step == 1) v[5] = std::numeric_limits<double>::quiet_NaN();
  };
  run_builder run = t.run();
  const auto c = checked(run);
  CHECK(c.verdict == condition::fault);
  REQUIRE(c.nonfinite_origin);
  CHECK(c.nonfinite_origin->where.tensor == "x");
  CHECK(c.nonfinite_origin->where.role == role::input);
  CHECK(c.roots.size() == 1);
}

TEST_CASE("probabilities that do not add up are found from statistics alone") {
  for (const level l : {level::stats, level::sketch}) {
    run_builder wrong = softmax(dtype::bf16, 1.25, l);
    const auto c = checked(wrong);
    CHECK(first(c) == "attn/weights invariant open");
    CHECK(c.first_divergence->rule == "ND907");
  }
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const int empty : {0, 3}) {
      run_builder honest = softmax(type, 1, level::stats, empty);
      CHECK(first(checked(honest)) == "none");
    }
  }
}

TEST_CASE("second moments, counts of maxima and maxima of magnitudes") {
  const auto run_of = [](const std::string& kind, const std::vector<double>& x,
                         const std::vector<double>& y) {
    run_builder run(1, level::stats);
    run->op(0, "s", "f", kind);
    run->input("x", whole(x));
    run->output("y", whole(y));
    return run;
  };
  const std::vector<double> x = {0.5, -3, 2, 1};
  run_builder wrong_amax = run_of("amax", x, {2.5}), right_amax = run_of("amax", x, {3});
  CHECK(first(checked(wrong_amax)) == "s/f invariant open");
  CHECK(first(checked(right_amax)) == "none");
  run_builder negative = run_of("square", x, {0.25, 9, -4, 1}),
              positive = run_of("square", x, {0.25, 9, 4, 1});
  CHECK(first(checked(negative)) == "s/f invariant open");
  CHECK(first(checked(positive)) == "none");
  run_builder none = run_of("maximum_count", x, {0}), one = run_of("maximum_count", x, {1});
  CHECK(first(checked(none)) == "s/f invariant open");
  CHECK(first(checked(one)) == "none");
}

TEST_CASE("the counter of an optimizer grows, except in skipped steps") {
  const auto run_of = [](std::vector<double> updates, std::int64_t skipped) {
    run_builder run(1, level::stats);
    for (std::size_t step = 0; step < updates.size(); ++step) {
      run->op(static_cast<std::int64_t>(step), "s", "adam", "mystery", phase::optimizer);
      run->scalar("update", updates[step]);
    }
    if (skipped >= 0) run->skip(skipped);
    return run;
  };
  run_builder stuck = run_of({1, 2, 2, 3}, -1), grows = run_of({1, 2, 3, 4}, -1),
              skips = run_of({1, 2, 2, 3}, 2);
  CHECK(first(checked(stuck)) == "s/adam invariant open");
  CHECK(checked(stuck).first_divergence->where.step == 2);
  CHECK(first(checked(grows)) == "none");
  CHECK(first(checked(skips)) == "none");
}

TEST_CASE("ranks: addends read as the whole, and sums that are none") {
  const auto run_of = [](bool reduced, double factor, level l) {
    run_builder run(2, l);
    const std::vector<double> a = numbers(400, 1), b = numbers(400, 2);
    for (std::size_t r = 0; r < 2; ++r) {
      held part = whole(r == 0 ? a : b, dtype::f32, {20, 20}), all = part;
      part.mesh = "[" + axis("tp", 2, static_cast<int>(r), "partial_sum") + "]";
      part.begin = all.begin = {0, 0};
      part.global = all.global = {20, 20};
      all.mesh = "[" + axis("tp", 2, static_cast<int>(r), "replicated") + "]";
      run[r].op(0, "s", "f", "mystery");
      run[r].output("y", part);
      if (reduced) {
        run[r].op(0, "s", "sum", "all_reduce");
        run[r].collective(collective_operation::all_reduce, 2);
        run[r].input("y", part);
        for (std::size_t i = 0; i < all.values.size(); ++i)
          all.values[i] = static_cast<float>(factor * (a[i] + b[i]));
        run[r].output("y", all);
      }
      run[r].op(0, "s", "g", "mystery");
      run[r].input("y", all);
    }
    return run;
  };
  for (const level l : {level::sketch, level::tensors}) {
    run_builder honest = run_of(true, 1, l), forgotten = run_of(false, 1, l);
    CHECK(first(checked(honest)) == "none");
    CHECK(first(checked(forgotten)) == "s/g invariant missing-reduction");
  }
  run_builder twice = run_of(true, 2, level::sketch);
  CHECK(first(checked(twice)) == "s/sum invariant open");
}

TEST_CASE("a weight that is another rank's shard is found by its first use") {
  const auto run_of = [](bool swapped) {
    run_builder run(2);
    for (std::int64_t step = 0; step < 2; ++step) {
      for (std::size_t r = 0; r < 2; ++r) {
        const std::size_t holds = step == 1 && swapped ? 1 - r : r;
        const auto shard = [&](std::size_t numbers_of, std::int64_t at) {
          held h = whole(numbers(32, 5 + numbers_of), dtype::f32, {4, 8});
          h.mesh = "[" + axis("tp", 2, static_cast<int>(r), "sharded", 0) + "]";
          h.begin = {4 * at, 0};
          h.global = {8, 8};
          return h;
        };
        run[r].op(step, "s", "f", "mystery");
        run[r].weight("w", shard(holds, static_cast<std::int64_t>(r)));
        if (step == 0) {
          run[r].op(step, "s", "step", "mystery", phase::optimizer);
          run[r].output("w", shard(r, static_cast<std::int64_t>(r)));
        }
      }
    }
    return run;
  };
  run_builder swapped = run_of(true), honest = run_of(false);
  CHECK(first(checked(swapped)) == "s/f mismatch shard-mismatch");
  CHECK(first(checked(honest)) == "none");
}

TEST_CASE("what is dropped makes the result incomplete, what is undecided only if asked for") {
  run_builder lost = tiny{}.run();
  lost.run().ranks[0].drops.captures = 2;
  CHECK(checked(lost).verdict == condition::incomplete);
  CHECK(checked(lost).totals.dropped == 2);
  run_builder sketches = tiny{.keep = level::sketch}.run();
  CHECK(checked(sketches).verdict == condition::healthy);
  CHECK(checked(sketches, {.strict = true}).verdict == condition::incomplete);
  run_builder empty;
  CHECK(checked(empty).verdict == condition::incomplete);
}

TEST_CASE("what lacks values says what to record") {
  run_builder all = tiny{.keep = level::stats}.run();
  const auto c = checked(all);
  REQUIRE(c.next_capture);
  CHECK(analysis::line_of(*c.next_capture) == "NUMDIFF_SELECT='*' NUMDIFF_STEPS=0:2 NUMDIFF_LEVEL=tensors");

  run_builder some = tiny{}.run();
  for (model::capture_row& row : some.run().ranks[0].captures) {
    const auto& op = *std::ranges::find(some.run().ranks[0].ops, row.op, &model::op_row::seq);
    if (op.step == 1 && some.run().ranks[0].strings[op.name] == "act") row.payload = -1;
  }
  const auto d = checked(some);
  REQUIRE(d.next_capture);
  CHECK(d.totals.undecided == 3);
  CHECK(analysis::line_of(*d.next_capture) ==
        "NUMDIFF_SELECT='decoder.layer.0/act=tensors,decoder.layer.1/act=tensors,decoder.layer.2/"
        "act=tensors,*' "
        "NUMDIFF_STEPS=1 NUMDIFF_LEVEL=sketch");
}

TEST_CASE("a selection keeps names that mean something to it and to a shell") {
  run_builder run(1, level::stats);
  for (const char* name : {"a,b=c", "it's"}) {
    run->op(0, "s", name, "square");
    run->input("x", whole({1, 2}));
    run->output("y", whole({1, 4}));
  }
  run->op(0, "s", "other", "mystery");
  const auto c = checked(run);
  REQUIRE(c.next_capture);
  CHECK(analysis::line_of(*c.next_capture) ==
        "NUMDIFF_SELECT='s/a?b?c=tensors,s/it'\\''s=tensors,*' NUMDIFF_STEPS=0 NUMDIFF_LEVEL=sketch");
}
