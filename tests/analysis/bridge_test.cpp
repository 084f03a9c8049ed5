// A kernel that fuses what the other run has in parts is judged by these parts.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::outcome;

namespace {

constexpr std::size_t T = 12, D = 16;

void check_totals(const analysis::comparison& c) {
  const analysis::totals& t = c.totals;
  CHECK(t.matched == t.equal + t.within + t.beyond + t.undecided + t.not_comparable);
  for (const analysis::side_totals* s : {&t.reference, &t.test}) {
    CHECK(s->captures == s->matched + s->auxiliary + s->bridged + s->only_there + s->dropped);
    CHECK(s->matched == t.matched);
  }
}

analysis::comparison compared(run_builder& reference, run_builder& test) {
  const analysis::comparison c = analysis::compare(reference.run(), test.run());
  check_totals(c);
  return c;
}

std::string first(const analysis::comparison& c) {
  return c.first_divergence ? c.first_divergence->where.op + " " + c.first_divergence->cause : "none";
}

std::string told(const analysis::comparison& c) {
  std::string text;
  for (const analysis::finding& f : c.findings)
    text += f.rule + " " + f.where.op + " " + f.cause + " " + f.message + "\n";
  for (const std::string& w : c.incomplete_because) text += w + "\n";
  for (const std::string& w : c.warnings) text += w + "\n";
  return text;
}

std::vector<double> times(const std::vector<double>& a, const std::vector<double>& b, std::size_t m,
                          std::size_t k, std::size_t n) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t q = 0; q < k; ++q)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += a[i * k + q] * b[q * n + j];
  return c;
}

std::vector<double> transposed(const std::vector<double>& a, std::size_t m, std::size_t n) {
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) b[i % n * m + i / n] = a[i];
  return b;
}

// One block: a projection, attention over it, a product, a bias and an activation.
struct block {
  dtype type = dtype::f32;
  bool fused_attention = false, fused_activation = false, fused_norm = false;
  double scale = 0.25;
  double bias = 1;  // factor of the bias inside the fused activation
  std::uint64_t bias_seed = 6;
  level keep = level::tensors;

  [[nodiscard]] run_builder run() const {
    run_builder built(1, keep);
    rank_builder& r = built[0];
    const std::vector<std::int64_t> rows = {T, D}, square = {D, D}, pairs = {T, T};
    const auto in = [&](std::vector<double> v) { return rounded(std::move(v), type); };
    const auto op = [&](const char* name, const char* kind, std::int64_t k = -1) {
      model::op_row& row = r.op(0, "block", name, kind);
      row.input_dtype = row.input2_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
      row.accumulate_dtype = static_cast<std::uint16_t>(type == dtype::f64 ? dtype::f64 : dtype::f32);
      row.k = k;
    };
    const auto product = [&](const char* name, const std::vector<double>& a,
                             const std::vector<std::int64_t>& as, const std::vector<double>& b,
                             const std::vector<std::int64_t>& bs, bool weight) {
      const auto m = static_cast<std::size_t>(as[0]), k = static_cast<std::size_t>(as[1]),
                 n = static_cast<std::size_t>(bs[1]);
      std::vector<double> c = in(times(a, b, m, k, n));
      op(name, "matmul", as[1]);
      r.input("a", whole(a, type, as));
      weight ? r.weight("b", whole(b, type, bs)) : r.input("b", whole(b, type, bs));
      r.output("y", whole(c, type, {as[0], bs[1]}));
      return c;
    };
    const std::vector<double> x = in(numbers(T * D, 1));
    const auto w = [&](std::uint64_t seed) {
      std::vector<double> v = numbers(D * D, seed);
      for (double& e : v) e *= 0.5;
      return in(std::move(v));
    };
    const std::vector<double> q = product("q", x, rows, w(2), square, true),
                              k = product("k", x, rows, w(3), square, true),
                              v = product("v", x, rows, w(4), square, true);
    const std::vector<double> kt = transposed(k, T, D);
    // Fused: nothing is rounded on the way.
    std::vector<double> scores = times(q, kt, T, D, T);
    if (!fused_attention) {
      op("scores", "matmul", D);
      r.input("q", whole(q, type, rows));
      r.input("k", whole(kt, type, {D, T}));
      scores = in(std::move(scores));
      r.output("s", whole(scores, type, pairs));
      op("softmax", "softmax");
      r.input("s", whole(scores, type, pairs));
      r.scalar("scale", scale);
    }
    std::vector<double> p(T * T);
    for (std::size_t i = 0; i < T; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < T; ++j) sum += p[i * T + j] = std::exp(scale * scores[i * T + j]);
      for (std::size_t j = 0; j < T; ++j) p[i * T + j] /= sum;
    }
    if (!fused_attention) {
      p = in(std::move(p));
      r.output("p", whole(p, type, pairs));
      op("context", "matmul", T);
      r.input("p", whole(p, type, pairs));
      r.input("v", whole(v, type, rows));
    } else {
      op("attention", "attention", D);
      r.input("q", whole(q, type, rows));
      r.input("k", whole(k, type, rows));
      r.input("v", whole(v, type, rows));
      r.scalar("scale", scale);
    }
    const std::vector<double> o = in(times(p, v, T, T, D));
    r.output("o", whole(o, type, rows));

    std::vector<double> gamma = numbers(D, 9), h(T * D);
    for (double& g : gamma) g = 1 + 0.25 * g;
    gamma = in(std::move(gamma));
    for (std::size_t i = 0; i < T; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < D; ++j) sum += o[i * D + j] * o[i * D + j];
      for (std::size_t j = 0; j < D; ++j) h[i * D + j] = o[i * D + j] / std::sqrt(sum / D + 1e-5) * gamma[j];
    }
    const std::vector<double> up = w(5);
    if (!fused_norm) {
      op("norm", "rms_norm");
      r.input("x", whole(o, type, rows));
      r.weight("gamma", whole(gamma, type, {D}));
      r.scalar("eps", 1e-5);
      h = in(std::move(h));
      r.output("y", whole(h, type, rows));
    }
    std::vector<double> y;
    if (fused_norm) {
      op("norm_up", "norm_matmul", D);
      r.input("x", whole(o, type, rows));
      r.weight("gamma", whole(gamma, type, {D}));
      r.weight("b", whole(up, type, square));
      r.scalar("eps", 1e-5);
      y = in(times(h, up, T, D, D));
      r.output("y", whole(y, type, rows));
    } else {
      y = product("up", h, rows, up, square, true);
    }
    const std::vector<double> beta = in(numbers(D, bias_seed));
    std::vector<double> z(y.size());
    for (std::size_t i = 0; i < z.size(); ++i) z[i] = y[i] + beta[i % D] * (fused_activation ? bias : 1);
    if (!fused_activation) {
      op("bias", "add");
      r.input("y", whole(y, type, rows));
      r.weight("bias", whole(beta, type, {D}));
      z = in(std::move(z));
      r.output("z", whole(z, type, rows));
      op("activation", "silu");
      r.input("z", whole(z, type, rows));
    } else {
      op("bias_silu", "bias_silu");
      r.input("y", whole(y, type, rows));
      r.weight("bias", whole(beta, type, {D}));
    }
    for (double& e : z) e = e / (1 + std::exp(-e));
    z = in(std::move(z));
    r.output("a", whole(z, type, rows));
    product("down", z, rows, w(7), square, true);
    return built;
  }
};

}  // namespace

TEST_CASE("a fused kernel agrees with its parts in every format") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const dtype reference : {dtype::f32, type}) {
      for (int what = 0; what < 3; ++what) {
        run_builder a = block{.type = reference}.run();
        run_builder b = block{.type = type,
                              .fused_attention = what == 0,
                              .fused_activation = what == 1,
                              .fused_norm = what == 2}
                            .run();
        for (const bool swapped : {false, true}) {
          const auto c = swapped ? compared(b, a) : compared(a, b);
          INFO("region " << what << " in " << std::string(name_of(type)) << " against "
                         << std::string(name_of(reference)) << (swapped ? ", swapped" : "") << "\n"
                         << told(c));
          CHECK(c.verdict == outcome::agree);
          const auto& parts = swapped ? c.totals.test : c.totals.reference;
          const auto& fused = swapped ? c.totals.reference : c.totals.test;
          CHECK(parts.bridged == (what == 0 ? 9 : what == 1 ? 5 : 7));
          CHECK(fused.bridged == (what == 0 ? 5 : what == 1 ? 3 : 5));
          CHECK(parts.only_there + fused.only_there == 0);
        }
      }
    }
  }
}

TEST_CASE("several regions of one run are bridged apart") {
  run_builder a = block{.type = dtype::bf16}.run();
  run_builder b =
      block{.type = dtype::bf16, .fused_attention = true, .fused_activation = true, .fused_norm = true}.run();
  const auto c = compared(a, b);
  INFO(told(c));
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.reference.bridged == 21);
  CHECK(c.totals.test.bridged == 13);
}

TEST_CASE("a fault inside a fused kernel is found at it") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    run_builder good = block{.type = type}.run();
    run_builder scaled = block{.type = type, .fused_attention = true, .scale = 0.2}.run();
    run_builder biased = block{.type = type, .fused_activation = true, .bias = 0.9}.run();
    for (run_builder* bad : {&scaled, &biased}) {
      const auto c = compared(good, *bad);
      INFO(std::string(name_of(type)) << "\n" << told(c));
      CHECK(c.verdict == outcome::differ);
      CHECK(c.first_divergence->where.op == (bad == &scaled ? "attention" : "bias_silu"));
      CHECK(c.first_divergence->seen_in == analysis::side::test);
      CHECK(c.roots.size() == 1);
    }
    const auto c = compared(scaled, good);
    CHECK(first(c).starts_with("attention "));
    CHECK(c.first_divergence->seen_in == analysis::side::reference);
  }
}

TEST_CASE("another weight that a fused kernel reads is an input that differs") {
  run_builder good = block{}.run();
  run_builder bad = block{.fused_activation = true, .bias_seed = 8}.run();
  const auto c = compared(good, bad);
  INFO(told(c));
  CHECK(first(c) == "bias_silu input-differs");
}

TEST_CASE("ops at one place that write other things are no region") {
  const auto build = [](const char* kind, double result) {
    run_builder b;
    const std::vector<double> x = numbers(64, 3);
    b->op(0, "s", "made", "mystery");
    b->output("x", whole(x));
    b->op(0, "s", kind, kind);
    b->input("x", whole(x));
    b->output("y", whole({result}));
    return b;
  };
  double sum = 0, squares = 0;
  for (const double x : numbers(64, 3)) sum += x;
  for (const double x : numbers(64, 3)) squares += (x - sum / 64) * (x - sum / 64);
  run_builder a = build("mean", sum / 64), b = build("variance", squares / 64),
              c = build("average", sum / 64);
  const auto other = compared(a, b);
  INFO(told(other));
  CHECK(other.verdict == outcome::incomplete);
  CHECK(other.totals.test.only_there == 2);
  // The same result under another name is.
  const auto same = compared(a, c);
  CHECK(same.verdict == outcome::agree);
  CHECK(same.totals.test.bridged == 2);
}

TEST_CASE("a region without values stays unmatched, and says why") {
  run_builder a = block{.keep = level::sketch}.run();
  run_builder b = block{.fused_activation = true, .keep = level::sketch}.run();
  const auto c = compared(a, b);
  INFO(told(c));
  // Small tensors keep their values at level sketch; those of the block have 192 elements.
  CHECK(c.verdict == outcome::agree);
  run_builder d = block{.keep = level::stats}.run();
  run_builder e = block{.fused_activation = true, .keep = level::stats}.run();
  const auto without = compared(d, e);
  CHECK(without.verdict == outcome::incomplete);
  CHECK(without.totals.reference.only_there == 5);
  CHECK(without.totals.test.only_there == 3);
  CHECK(told(without).find("values not stored") != std::string::npos);
}
