// Findings that need both runs, or the ops before: conventions, constants, factors, and what is passed on.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

std::string first(const analysis::comparison& c) {
  return c.first_divergence ? c.first_divergence->where.op + " " + c.first_divergence->rule : "none";
}

std::vector<double> times(std::vector<double> v, double f) {
  for (double& x : v) x *= f;
  return v;
}

// x * before, written by one op with a scalar of this name and value, then x * before * after by another.
run_builder two_ops(const std::string& name, double before, double after) {
  run_builder built;
  const std::vector<double> x = numbers(400, 3), y = times(x, before);
  built->op(0, "", "first", "scale");
  built->input("x", whole(x, dtype::f64));
  built->scalar("factor", before);
  if (name != "factor") built->scalar(name, 0.2);
  built->output("y", whole(y, dtype::f64));
  built->op(0, "", "second", "silu");
  built->input("y", whole(y, dtype::f64));
  std::vector<double> z = y;
  for (double& v : z) v = v / (1 + std::exp(-v)) * after;
  built->output("z", whole(z));
  return built;
}

}  // namespace

TEST_CASE("a factor that an earlier op applied, and numbers that are no factors") {
  run_builder honest = two_ops("factor", 0.125, 1), again = two_ops("factor", 0.125, 0.125);
  CHECK(first(compare(honest.run(), again.run())) == "second ND506");
  run_builder other = two_ops("factor", 0.125, 0.2);
  CHECK(first(compare(honest.run(), other.run())) == "second ND505");
  run_builder constant = two_ops("eps", 0.125, 1), same_value = two_ops("eps", 0.125, 0.2);
  CHECK(first(compare(constant.run(), same_value.run())) == "second ND505");
}

TEST_CASE("a factor that differs and one that the data make up for") {
  const auto scaled = [](double loss_scale, double factor) {
    run_builder built;
    const std::vector<double> g = numbers(300, 5);
    held carried = whole(times(g, loss_scale));
    carried.pending_factor = loss_scale;
    built->op(0, "", "unscale", "scale", phase::backward);
    built->input("g", carried);
    built->scalar("factor", factor);
    built->output("y", whole(times(times(g, loss_scale), factor)));
    return built;
  };
  run_builder a = scaled(1024, 1.0 / 1024), b = scaled(65536, 1.0 / 65536), c = scaled(1024, 1.0 / 2048);
  CHECK(compare(a.run(), b.run()).verdict == outcome::agree);
  CHECK(first(compare(a.run(), c.run())) == "unscale ND507");
}

TEST_CASE("one overflow rule and another") {
  const auto stored_as = [](dtype type, double past, double size) {
    run_builder built;
    std::vector<double> x = numbers(200, 7), y = x;
    x[3] = size;
    y[3] = past;
    built->op(0, "", "store", "cast").output_dtype = static_cast<std::uint16_t>(type);
    built->input("x", whole(x));
    built->output("y", whole(y, type));
    return built;
  };
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  run_builder kept = stored_as(dtype::f8e4m3fn, 448, 600), lost = stored_as(dtype::f8e4m3fn, nan, 600);
  CHECK(first(compare(kept.run(), lost.run())) == "store ND412");
  CHECK(first(compare(lost.run(), kept.run())) == "store ND412");
  run_builder half = stored_as(dtype::f16, 65504, 1e6), endless = stored_as(dtype::f16, inf, 1e6);
  CHECK(first(compare(half.run(), endless.run())) == "store ND412");
  // Another format has another range: that is an overflow.
  run_builder wide = stored_as(dtype::bf16, 1e6, 1e6);
  CHECK(first(compare(wide.run(), endless.run())) == "store ND103");
  // An infinity that was read is kept or hidden, not made.
  run_builder passed = stored_as(dtype::f16, inf, inf), hidden = stored_as(dtype::f16, 65504, inf);
  CHECK(first(compare(passed.run(), hidden.run())) != "store ND412");
}

TEST_CASE("positions that a format cannot tell apart, and large numbers that only happen to be whole") {
  const auto reads = [](dtype type, const std::vector<double>& x) {
    run_builder built;
    built->op(0, "", "half", "scale").input_dtype = static_cast<std::uint16_t>(type);
    built->input("x", whole(x, type));
    built->scalar("factor", 0.5);
    built->output("y", whole(times(rounded(x, type), 0.5)));
    return built;
  };
  std::vector<double> positions(300), large = rounded(times(numbers(300, 9), 3e4), dtype::f16);
  for (std::size_t i = 0; i < 300; ++i) positions[i] = static_cast<double>(2000 + 3 * i);
  run_builder exact = reads(dtype::f32, positions), collided = reads(dtype::bf16, positions);
  CHECK(first(compare(exact.run(), collided.run())) == "half ND404");
  for (double& x : large) x = std::abs(x) < 2048 ? x + std::copysign(2048, x) : x;
  for (double& x : large) x = std::trunc(x);
  run_builder wide = reads(dtype::f32, large), narrow = reads(dtype::bf16, large);
  CHECK(compare(wide.run(), narrow.run()).verdict == outcome::agree);
}

TEST_CASE("a maximum is that of the tensor, whatever scalars the op tells before") {
  const auto largest = [](double told) {
    run_builder built;
    built->op(0, "", "amax", "amax");
    built->scalar("seconds", 5e-6);
    built->input("x", whole({1, -3.5, 2}));
    built->output("amax", whole({told}));
    return built;
  };
  run_builder right = largest(3.5), wrong = largest(2);
  CHECK(compare(right.run(), right.run()).verdict == outcome::agree);
  CHECK(first(compare(right.run(), wrong.run())) != "none");
}

TEST_CASE("scores that leave their range before they are divided, biased and masked") {
  const auto attends = [](dtype type) {
    run_builder built;
    constexpr std::size_t n = 6;
    const auto settled = [&](const char* name, const char* kind) {
      model::op_row& row = built->op(0, "attn", name, kind);
      row.input_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
    };
    std::vector<double> q(n, 30), s(n * n);
    q[2] = 300;
    for (std::size_t i = 0; i < n * n; ++i) s[i] = q[i / n] * q[i % n];
    settled("bmm", "matmul");
    built->input("q", whole(q, type, {n, 1}));
    built->input("k", whole(q, type, {1, n}));
    built->output("s", whole(s, type, {n, n}));
    s = rounded(s, type);
    settled("temperature", "divide");
    built->input("s", whole(s, type, {n, n}));
    built->input("root", whole({8}, type));
    std::vector<double> z = rounded(times(s, 0.125), type);
    built->output("z", whole(z, type, {n, n}));
    settled("bias", "add");
    built->input("bias", whole(std::vector<double>(n * n, 1), type, {n, n}));
    built->input("z", whole(z, type, {n, n}));
    for (double& x : z) x += 1;
    z = rounded(z, type);
    built->output("y", whole(z, type, {n, n}));
    std::vector<double> p(n * n);
    for (std::size_t r = 0; r < n; ++r) {
      const double top = *std::max_element(z.begin() + static_cast<std::ptrdiff_t>(r * n),
                                           z.begin() + static_cast<std::ptrdiff_t>(r * n + n));
      double sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += std::exp(z[r * n + i] - top);
      for (std::size_t i = 0; i < n; ++i) p[r * n + i] = std::exp(z[r * n + i] - top) / sum;
    }
    settled("p", "softmax");
    built->input("y", whole(z, type, {n, n}));
    built->output("p", whole(p, type, {n, n}));
    return built;
  };
  run_builder wide = attends(dtype::f32), half = attends(dtype::f16);
  CHECK(first(compare(wide.run(), half.run())) == "bmm ND101");
}

TEST_CASE("a state that no step of an op without replay moves in a coarser format") {
  for (const level l : {level::tensors, level::sketch}) {
    const auto averages = [l](dtype type, double rate, const char* after) {
      run_builder built(1, l);
      const std::vector<double> target = times(numbers(900, 21), 2);
      std::vector<double> state = numbers(900, 22);
      for (double& x : state) x += std::copysign(0.5, x);
      state = rounded(state, dtype::bf16);
      std::vector<double> next = state;
      for (std::size_t i = 0; i < state.size(); ++i) next[i] += rate * (target[i] - state[i]);
      built->op(0, "", "shadow", "moving_average", phase::optimizer);
      built->capture(role::state, "w", whole(state, type));
      built->input("target", whole(target));
      built->capture(role::state, after, whole(next, type));
      return built;
    };
    run_builder a = averages(dtype::f32, 1e-4, "w.new"), b = averages(dtype::bf16, 1e-4, "w.new");
    CHECK(first(compare(a.run(), b.run())) == "shadow ND402");
    run_builder c = averages(dtype::f32, 0.5, "w.new"), d = averages(dtype::bf16, 0.5, "w.new");
    CHECK(first(compare(c.run(), d.run())) == "none");
  }
}

TEST_CASE("one set of codes under two names") {
  const auto reads = [](dtype type, double factor) {
    run_builder built;
    std::vector<double> x = rounded(numbers(300, 9), dtype::f8e4m3fn);
    const std::vector<double> y = times(x, factor * 0.5);
    built->op(0, "", "half", "scale").input_dtype = static_cast<std::uint16_t>(type);
    built->input("x", whole(times(x, factor), type));
    built->scalar("factor", 0.5);
    built->output("y", whole(y));
    return built;
  };
  // The codes of fnuz are those of fn at twice the value, but for the smallest.
  run_builder a = reads(dtype::f8e4m3fn, 1), b = reads(dtype::f8e4m3fnuz, 0.5),
              c = reads(dtype::f8e4m3fnuz, 1);
  CHECK(first(compare(a.run(), b.run())) == "half ND412");
  CHECK(compare(a.run(), c.run()).verdict == outcome::agree);
}

TEST_CASE("a constant of fewer bits than the op records") {
  const auto weighted = [](double used) {
    run_builder built;
    const std::vector<double> x = numbers(320, 11);
    std::vector<double> p(x.size());
    for (std::size_t row = 0; row < 10; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < 32; ++i) sum += std::exp(used * x[row * 32 + i]);
      for (std::size_t i = 0; i < 32; ++i) p[row * 32 + i] = std::exp(used * x[row * 32 + i]) / sum;
    }
    built->op(0, "", "weights", "softmax");
    built->input("x", whole(x, dtype::f32, {10, 32}));
    built->scalar("scale", 3.1416);
    built->output("p", whole(p, dtype::f32, {10, 32}));
    return built;
  };
  run_builder a = weighted(3.1416), b = weighted(3.140625), c = weighted(static_cast<double>(3.1416F));
  CHECK(first(compare(a.run(), b.run())) == "weights ND802");
  CHECK(compare(a.run(), c.run()).verdict == outcome::agree);
}

TEST_CASE("a factor of fewer bits, told or not, is a constant that was rounded") {
  const auto scaled = [](double told, double used, dtype out, level l = level::tensors) {
    run_builder built(1, l);
    const std::vector<double> x = numbers(320, 15);
    built->op(0, "", "scaled", "scale").output_dtype = static_cast<std::uint16_t>(out);
    built->input("x", whole(x));
    built->scalar("factor", told);
    built->output("y", whole(times(x, used), out));
    return built;
  };
  const double factor = 100.0 / 7, low = 14.3125;  // the nearest of bf16
  run_builder a = scaled(factor, factor, dtype::f32), untold = scaled(factor, low, dtype::f32),
              told = scaled(low, low, dtype::bf16), other = scaled(15, 15, dtype::bf16);
  CHECK(first(compare(a.run(), untold.run())) == "scaled ND802");
  CHECK(first(compare(a.run(), told.run())) == "scaled ND802");
  CHECK(first(compare(a.run(), other.run())) == "scaled ND507");
  run_builder c = scaled(factor, factor, dtype::f32, level::sketch),
              d = scaled(low, low, dtype::bf16, level::sketch);
  CHECK(first(compare(c.run(), d.run())) == "scaled ND802");
}

TEST_CASE("sums over the other dimension of a square tensor") {
  const auto sums = [](bool rows, dtype type) {
    run_builder built;
    const std::vector<double> x = rounded(numbers(400, 17), dtype::bf16);
    std::vector<double> y(20, 0);
    for (std::size_t i = 0; i < 400; ++i) y[rows ? i / 20 : i % 20] += x[i];
    built->op(0, "", "bias", "sum").output_dtype = static_cast<std::uint16_t>(type);
    built->input("dy", whole(x, dtype::f32, {20, 20}));
    built->output("db", whole(y, type));
    return built;
  };
  run_builder a = sums(true, dtype::f32), b = sums(false, dtype::f32), c = sums(true, dtype::bf16);
  CHECK(compare(a.run(), b.run()).verdict == outcome::differ);
  CHECK(compare(a.run(), c.run()).verdict == outcome::agree);
}

TEST_CASE("an op that passes on what it got is no root, one that adds its own error is") {
  const double inf = std::numeric_limits<double>::infinity();
  const auto masked = [&](bool whole_row, double error) {
    run_builder built;
    const std::vector<std::int64_t> shape = {8, 16};
    std::vector<double> x = numbers(128, 13), z = x, p(128);
    if (whole_row) {
      for (std::size_t i = 48; i < 64; ++i) z[i] = -inf;
    }
    built->op(0, "", "masked", "gather");  // of a kind that is not replayed
    built->input("x", whole(x, dtype::f32, shape));
    built->output("z", whole(z, dtype::f32, shape));
    for (std::size_t row = 0; row < 8; ++row) {
      double sum = 0;
      for (std::size_t i = 0; i < 16; ++i) sum += std::exp(z[row * 16 + i]);
      for (std::size_t i = 0; i < 16; ++i)
        p[row * 16 + i] = std::exp(z[row * 16 + i]) / sum * (row == 1 ? error : 1);
    }
    built->op(0, "", "weights", "softmax");
    built->input("z", whole(z, dtype::f32, shape));
    built->output("p", whole(p, dtype::f32, shape));
    return built;
  };
  const auto roots = [](const analysis::comparison& c) {
    std::string list;
    for (const analysis::finding& f : c.findings)
      if (f.is_root) list += f.where.op + " ";
    return list;
  };
  run_builder a = masked(false, 1), b = masked(true, 1), both = masked(true, 1.5);
  CHECK(roots(compare(a.run(), b.run())) == "masked ");
  const auto c = compare(a.run(), both.run());
  CHECK(roots(c) == "masked weights ");
}
