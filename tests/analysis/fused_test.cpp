// What honest fused kernels do otherwise than their parts: they go on with what they have not rounded yet,
// read casts that the parts do not have, and round partial sums.
#include <doctest/doctest.h>

#include <cmath>
#include <string>

#include "analysis/build_run.hpp"
#include "analysis/comparison.hpp"
#include "analysis/tiny_program.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::outcome;

namespace {

constexpr std::size_t rows = 24, width = 32;
const std::vector<std::int64_t> square = {rows, width}, table = {width, width};

std::string first(const analysis::comparison& c) {
  return c.first_divergence ? c.first_divergence->where.op + " " + c.first_divergence->cause : "none";
}

std::string told(const analysis::comparison& c) {
  std::string text;
  for (const analysis::finding& f : c.findings)
    text += f.rule + " " + f.where.op + " " + f.cause + " " + f.message + "\n";
  for (const std::string& w : c.incomplete_because) text += w + "\n";
  return text;
}

model::op_row& begin(rank_builder& r, dtype type, const char* name, const char* kind, std::int64_t k = -1) {
  model::op_row& row = r.op(0, "block", name, kind);
  row.input_dtype = row.input2_dtype = row.output_dtype = static_cast<std::uint16_t>(type);
  row.k = k;
  return row;
}

// An op that both runs have reads what they wrote.
void read_on(rank_builder& r, dtype type, const std::vector<double>& x) {
  begin(r, type, "next", "square");
  r.input("x", whole(x, type));
  std::vector<double> y = x;
  for (double& v : y) v *= v;
  r.output("y", whole(rounded(y, type), type));
}

// An addition and a norm of the sum.
struct add_norm {
  dtype type = dtype::bf16;
  bool fused = false;
  double residual = 1;  // factor of the residual inside the fused norm

  [[nodiscard]] run_builder run() const {
    run_builder built;
    rank_builder& r = built[0];
    const std::vector<double> x = rounded(numbers(rows * width, 1), type),
                              y = rounded(numbers(rows * width, 2), type),
                              gamma = rounded(numbers(width, 3), type);
    std::vector<double> sum(x.size()), inside(x.size()), normal(x.size());
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = x[i] + y[i];
    const std::vector<double> h = rounded(sum, type);
    for (std::size_t i = 0; i < sum.size(); ++i) inside[i] = fused ? x[i] + residual * y[i] : h[i];
    for (std::size_t i = 0; i < rows; ++i) {
      double squares = 0;
      for (std::size_t j = 0; j < width; ++j) squares += inside[i * width + j] * inside[i * width + j];
      for (std::size_t j = 0; j < width; ++j)
        normal[i * width + j] = inside[i * width + j] / std::sqrt(squares / width + 1e-5) * gamma[j];
    }
    begin(r, type, fused ? "add_norm" : "add", fused ? "add_norm" : "add");
    r.input("x", whole(x, type, square));
    r.input("y", whole(y, type, square));
    if (!fused) {
      r.output("h", whole(h, type, square));
      begin(r, type, "norm", "rms_norm");
      r.input("h", whole(h, type, square));
    }
    r.weight("gamma", whole(gamma, type, {width}));
    r.scalar("eps", 1e-5);
    if (fused) r.output("h", whole(h, type, square));
    normal = rounded(normal, type);
    r.output("n", whole(normal, type, square));
    read_on(r, type, normal);
    return built;
  }
};

// Two products with an activation between them; the second product reads E4M3 where that is asked for.
struct mlp {
  dtype type = dtype::bf16;
  bool fused = false, cast = false;
  int split = 1;         // parts of sums, rounded to bf16
  bool declared = true;  // the split
  double slope = 1;      // of the activation inside the fused op

  [[nodiscard]] std::vector<double> product(const std::vector<double>& a,
                                            const std::vector<double>& b) const {
    std::vector<double> c(rows * width);
    const std::size_t part = width / static_cast<std::size_t>(split);
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t at = 0; at < width; at += part) {
          double sum = 0;
          for (std::size_t q = at; q < at + part; ++q) sum += a[i * width + q] * b[q * width + j];
          c[i * width + j] += split == 1 ? sum : decode(dtype::bf16, encode(dtype::bf16, sum));
        }
      }
    }
    return c;
  }
  [[nodiscard]] run_builder run() const {
    run_builder built;
    rank_builder& r = built[0];
    const std::vector<double> x = rounded(numbers(rows * width, 1), type);
    const auto weights = [&](std::uint64_t seed) { return rounded(numbers(width * width, seed), type); };
    const auto told = [&](const char* name, const char* kind) {
      model::op_row& row = begin(r, type, name, kind, width);
      if (split == 1 || !declared) return;
      row.split = static_cast<std::uint16_t>(split);
      row.partial_dtype = static_cast<std::uint16_t>(dtype::bf16);
    };
    std::vector<double> up = product(x, weights(2));
    told(fused ? "up_silu" : "up", fused ? "matmul_silu" : "matmul");
    r.input("x", whole(x, type, square));
    r.weight("w", whole(weights(2), type, table));
    if (!fused) {
      up = rounded(up, type);
      r.output("y", whole(up, type, square));
      begin(r, type, "act", "silu");
      r.input("x", whole(up, type, square));
    }
    for (double& v : up) v = v / (1 + std::exp(-(fused ? slope : 1) * v));
    const std::vector<double> a = rounded(up, type);
    r.output("a", whole(a, type, square));
    std::vector<double> read = a;
    if (cast) {
      read = rounded(a, dtype::f8e4m3fn);
      begin(r, type, "a.cast", "cast").output_dtype = static_cast<std::uint16_t>(dtype::f8e4m3fn);
      r.input("x", whole(a, type, square));
      r.output("y", whole(read, dtype::f8e4m3fn, square));
    }
    std::vector<double> down = product(read, weights(4));
    told(fused ? "down_silu" : "down", fused ? "matmul_silu" : "matmul");
    r.input("x", whole(read, cast ? dtype::f8e4m3fn : type, square));
    r.weight("w", whole(weights(4), type, table));
    if (!fused) {
      down = rounded(down, type);
      r.output("y", whole(down, type, square));
      begin(r, type, "act_2", "silu");
      r.input("x", whole(down, type, square));
    }
    for (double& v : down) v = v / (1 + std::exp(-v));
    down = rounded(down, type);
    r.output("b", whole(down, type, square));
    read_on(r, type, down);
    return built;
  }
};

}  // namespace

TEST_CASE("a fused op may go on with what it has not rounded yet") {
  for (const dtype type : {dtype::f32, dtype::bf16, dtype::f16}) {
    run_builder parts = add_norm{.type = type}.run(), fused = add_norm{.type = type, .fused = true}.run();
    const auto c = analysis::compare(parts.run(), fused.run());
    INFO(told(c));
    CHECK(c.verdict == outcome::agree);
    CHECK(c.totals.test.bridged == 6);
    run_builder wrong = add_norm{.type = type, .fused = true, .residual = 0.98}.run();
    CHECK(first(analysis::compare(parts.run(), wrong.run())).starts_with("add_norm "));
  }
}

TEST_CASE("a fused op that reads a cast is judged by what it reads") {
  run_builder parts = mlp{}.run(), fused = mlp{.fused = true, .cast = true}.run();
  const auto c = analysis::compare(parts.run(), fused.run());
  CHECK(c.verdict == outcome::agree);
  CHECK(c.totals.test.only_there == 0);
  run_builder wrong = mlp{.fused = true, .cast = true, .slope = 1.1}.run();
  CHECK(first(analysis::compare(parts.run(), wrong.run())).starts_with("up_silu "));
}

TEST_CASE("partial sums of a fused op may have the format that it tells, and no other") {
  run_builder parts = mlp{.type = dtype::f32}.run(),
              split = mlp{.type = dtype::f32, .fused = true, .split = 8}.run(),
              untold = mlp{.type = dtype::f32, .fused = true, .split = 8, .declared = false}.run();
  CHECK(analysis::compare(parts.run(), split.run()).verdict == outcome::agree);
  CHECK(first(analysis::compare(parts.run(), untold.run())).starts_with("up_silu "));
}

TEST_CASE("masked places that only the parts show are no bad health") {
  const auto attention = [](bool fused) {
    run_builder built;
    rank_builder& r = built[0];
    const std::vector<double> s = numbers(width * width, 5);
    std::vector<double> masked = s, p(s.size());
    for (std::size_t i = 0; i < width; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < width; ++j) {
        if (j > i) masked[i * width + j] = -INFINITY;
        sum += std::exp(masked[i * width + j]);
      }
      for (std::size_t j = 0; j < width; ++j) p[i * width + j] = std::exp(masked[i * width + j]) / sum;
    }
    begin(r, dtype::f32, fused ? "masked_softmax" : "mask", fused ? "masked_softmax" : "mask");
    r.input("x", whole(s, dtype::f32, table));
    r.scalar("causal", 1);
    if (!fused) {
      r.output("y", whole(masked, dtype::f32, table));
      begin(r, dtype::f32, "softmax", "softmax");
      r.input("x", whole(masked, dtype::f32, table));
    }
    p = rounded(p, dtype::f32);
    r.output("p", whole(p, dtype::f32, table));
    read_on(r, dtype::f32, p);
    return built;
  };
  run_builder parts = attention(false), fused = attention(true);
  const auto c = analysis::compare(parts.run(), fused.run());
  CHECK(c.verdict == outcome::agree);
  CHECK(c.health == analysis::health::ok);
}
