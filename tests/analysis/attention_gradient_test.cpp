// Attention and its gradient in one kernel each: the parts' gradient reads probabilities that no kernel
// wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

constexpr std::size_t T = 24, D = 16;
const std::vector<std::int64_t> rows = {T, D}, pairs = {T, T}, columns = {D, T};

std::vector<double> times(const std::vector<double>& a, const std::vector<double>& b, std::size_t m,
                          std::size_t k, std::size_t n, double alpha = 1) {
  std::vector<double> c(m * n);
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t q = 0; q < k; ++q)
      for (std::size_t j = 0; j < n; ++j) c[i * n + j] += alpha * a[i * k + q] * b[q * n + j];
  return c;
}

std::vector<double> turned(const std::vector<double>& a, std::size_t m, std::size_t n) {
  std::vector<double> b(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) b[i % n * m + i / n] = a[i];
  return b;
}

enum class fault { none, no_mean, no_scale, masked };

struct attention {
  dtype type = dtype::f32;
  bool forward = false, backward = false;  // in one kernel
  fault what = fault::none;                // inside the gradient's kernel
  double scale = 0.25;
  bool tells_values = true;  // the gradient's kernel that it reads v

  [[nodiscard]] std::vector<double> stored(std::vector<double> v) const {
    return rounded(std::move(v), type);
  }
  void begin(rank_builder& r, const char* name, const char* kind, phase p, std::int64_t k = -1) const {
    model::op_row& row = r.op(0, "block", name, kind, p);
    row.input_dtype = row.input2_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
    row.k = k;
  }
  // alpha a b, recorded.
  [[nodiscard]] std::vector<double> product(rank_builder& r, const char* name, phase p,
                                            const std::vector<double>& a, const std::vector<std::int64_t>& as,
                                            const std::vector<double>& b, const std::vector<std::int64_t>& bs,
                                            double alpha = 1) const {
    const auto m = static_cast<std::size_t>(as[0]), k = static_cast<std::size_t>(as[1]),
               n = static_cast<std::size_t>(bs[1]);
    std::vector<double> c = stored(times(a, b, m, k, n, alpha));
    begin(r, name, "matmul", p, as[1]);
    r.input("a", whole(a, type, as));
    r.input("b", whole(b, type, bs));
    if (alpha != 1) r.scalar("alpha", alpha);
    r.output("c", whole(c, type, {as[0], bs[1]}));
    return c;
  }
  // What both runs make of a result.
  void read_on(rank_builder& r, const char* name, const std::vector<double>& x, phase p) const {
    std::vector<double> y = x;
    for (double& v : y) v *= v;
    begin(r, name, "square", p);
    r.input("x", whole(x, type, rows));
    r.output("y", whole(stored(y), type, rows));
  }
  [[nodiscard]] static std::vector<double> softmax(const std::vector<double>& s) {
    std::vector<double> p(s.size());
    for (std::size_t i = 0; i < T; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < T; ++j) sum += p[i * T + j] = std::exp(s[i * T + j]);
      for (std::size_t j = 0; j < T; ++j) p[i * T + j] /= sum;
    }
    return p;
  }
  [[nodiscard]] static std::vector<double> softmax_gradient(const std::vector<double>& p,
                                                            const std::vector<double>& dp, bool mean) {
    std::vector<double> ds(p.size());
    for (std::size_t i = 0; i < T; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < T && mean; ++j) sum += dp[i * T + j] * p[i * T + j];
      for (std::size_t j = 0; j < T; ++j) ds[i * T + j] = p[i * T + j] * (dp[i * T + j] - sum);
    }
    return ds;
  }

  [[nodiscard]] run_builder run() const {
    run_builder built;
    rank_builder& r = built[0];
    const std::vector<double> q = stored(numbers(T * D, 1)), k = stored(numbers(T * D, 2)),
                              v = stored(numbers(T * D, 3)), dy = stored(numbers(T * D, 4));
    const auto p = forward ? forward_kernel(r, q, k, v) : forward_parts(r, q, k, v);
    backward ? backward_kernel(r, q, k, v, dy) : backward_parts(r, q, k, v, dy, p);
    return built;
  }
  using numbers_of = const std::vector<double>&;
  // Each returns the probabilities as it has them.
  [[nodiscard]] std::vector<double> forward_parts(rank_builder& r, numbers_of q, numbers_of k,
                                                  numbers_of v) const {
    const phase f = phase::forward;
    const auto s = product(r, "scores", f, q, rows, turned(k, T, D), columns, scale);
    auto p = stored(softmax(s));
    begin(r, "weights", "softmax", f);
    r.input("s", whole(s, type, pairs));
    r.output("p", whole(p, type, pairs));
    read_on(r, "next", product(r, "context", f, p, pairs, v, rows), f);
    return p;
  }
  // Only what multiplies values is rounded inside, as a matrix unit asks for.
  [[nodiscard]] std::vector<double> forward_kernel(rank_builder& r, numbers_of q, numbers_of k,
                                                   numbers_of v) const {
    const auto s = times(q, turned(k, T, D), T, D, T, scale);
    auto p = softmax(s);
    const auto y = stored(times(stored(p), v, T, T, D));
    std::vector<double> lse(T);
    for (std::size_t i = 0; i < T; ++i) lse[i] = s[i * T] - std::log(p[i * T]);
    begin(r, "attention", "attention", phase::forward, static_cast<std::int64_t>(D));
    r.input("q", whole(q, type, rows));
    r.input("k", whole(k, type, rows));
    r.input("v", whole(v, type, rows));
    r.scalar("scale", scale);
    r.output("y", whole(y, type, rows));
    r.output("lse", whole(lse));
    read_on(r, "next", y, phase::forward);
    return p;
  }
  void backward_parts(rank_builder& r, numbers_of q, numbers_of k, numbers_of v, numbers_of dy,
                      numbers_of p) const {
    const phase b = phase::backward;
    const auto dv = product(r, "dv", b, turned(p, T, T), pairs, dy, rows),
               dp = product(r, "dp", b, dy, rows, turned(v, T, D), columns),
               ds = stored(softmax_gradient(p, dp, true));
    begin(r, "dweights", "softmax_gradient", b);
    r.input("dp", whole(dp, type, pairs));
    r.input("p", whole(p, type, pairs));
    r.gradient("ds", whole(ds, type, pairs));
    const auto dq = product(r, "dq", b, ds, pairs, k, rows, scale),
               dk = product(r, "dk", b, turned(ds, T, T), pairs, q, rows, scale);
    read_on(r, "next_q", dq, b);
    read_on(r, "next_k", dk, b);
    read_on(r, "next_v", dv, b);
  }
  void backward_kernel(rank_builder& r, numbers_of q, numbers_of k, numbers_of v, numbers_of dy) const {
    const auto p = softmax(times(q, turned(k, T, D), T, D, T, scale));
    auto ds = softmax_gradient(p, times(dy, turned(v, T, D), T, D, T), what != fault::no_mean);
    for (std::size_t i = 0; i < T && what == fault::masked; ++i) ds[i * T + i] = 0;
    ds = stored(ds);
    const auto dq = stored(times(ds, k, T, T, D, scale)),
               dk = stored(times(turned(ds, T, T), q, T, T, D, what == fault::no_scale ? 1 : scale)),
               dv = stored(times(turned(stored(p), T, T), dy, T, T, D));
    begin(r, "attention_gradient", "attention_gradient", phase::backward, static_cast<std::int64_t>(D));
    r.input("dy", whole(dy, type, rows));
    r.input("q", whole(q, type, rows));
    r.input("k", whole(k, type, rows));
    if (tells_values) r.input("v", whole(v, type, rows));
    r.scalar("scale", scale);
    r.gradient("dq", whole(dq, type, rows));
    r.gradient("dk", whole(dk, type, rows));
    r.gradient("dv", whole(dv, type, rows));
    read_on(r, "next_q", dq, phase::backward);
    read_on(r, "next_k", dk, phase::backward);
    read_on(r, "next_v", dv, phase::backward);
  }
};

}  // namespace

TEST_CASE("kernels for attention and its gradient agree with their parts") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const bool forward : {false, true}) {
      for (const bool swapped : {false, true}) {
        run_builder parts = attention{.type = type}.run(),
                    fused = attention{.type = type, .forward = forward, .backward = true}.run();
        const auto c = swapped ? compare(fused.run(), parts.run()) : compare(parts.run(), fused.run());
        CHECK(c.verdict == outcome::agree);
        const auto& in_one = swapped ? c.totals.reference : c.totals.test;
        CHECK(in_one.bridged == (forward ? 14 : 8));
        CHECK(in_one.only_there == 0);
      }
    }
  }
}

TEST_CASE("a fault inside the gradient's kernel is found at it, however far its result is off") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    for (const fault what : {fault::no_mean, fault::no_scale, fault::masked}) {
      run_builder parts = attention{.type = type}.run();
      for (const bool forward : {false, true}) {
        for (const bool swapped : {false, true}) {
          run_builder bad = attention{.type = type, .forward = forward, .backward = true, .what = what}.run();
          const auto c = swapped ? compare(bad.run(), parts.run()) : compare(parts.run(), bad.run());
          CHECK(c.verdict == outcome::differ);
          REQUIRE(c.first_divergence);
          const analysis::finding& first = *c.first_divergence;
          CHECK(first.where.op == "attention_gradient");
          CHECK(first.where.tensor == (what == fault::no_scale ? "dk" : "dq"));
          CHECK(first.seen_in == (swapped ? analysis::side::reference : analysis::side::test));
          if (what != fault::no_scale) continue;
          CHECK(first.cause == "factor-missing");
          CHECK(first.message.find("alpha of dk") != std::string::npos);
        }
      }
    }
  }
}

TEST_CASE("what a kernel for the gradient does not read is named") {
  run_builder parts = attention{}.run(), bad = attention{.backward = true, .tells_values = false}.run();
  const auto c = compare(parts.run(), bad.run());
  CHECK(c.verdict == outcome::incomplete);
  const auto names = [](const analysis::finding& f) {
    return f.message.find("does not read") != std::string::npos;
  };
  CHECK(std::any_of(c.findings.begin(), c.findings.end(), names));
}
