// Quantised products that bring no speed: the times are entered by hand.
// Reported as pytorch/ao#572.
#include <doctest/doctest.h>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr double us = 1e-6;

struct times {
  double amax, cast_x, cast_w, product;
};

// Whole numbers that every format holds.
array inputs(dtype type, std::int64_t n) {
  return mapped(type, {n, n}, [](std::size_t i) { return static_cast<double>(i * 7 % 5) - 2; });
}
array weights(dtype type, std::int64_t n) {
  return mapped(type, {n, n}, [](std::size_t i) { return static_cast<double>(i * 3 % 7) - 3; });
}

void multiply(const array& x, const array& w, dtype type, std::int64_t n, double seconds) {
  const dtype f32 = dtype::f32;
  NUMDIFF_OP(op, "linear", matmul, numdiff::dtypes(type, f32, f32).mnk(n, n, n));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_WEIGHT(op, "w", w.seen());
  const auto size = static_cast<std::size_t>(n);
  const array y = mapped(f32, {n, n}, [&](std::size_t i) {
    double sum = 0;
    for (std::size_t k = 0; k < size; ++k) sum += x[i / size * size + k] * w[k * size + i % size];
    return sum;
  });
  NUMDIFF_OUTPUT(op, "y", y.seen());
  NUMDIFF_SCALAR(op, "seconds", seconds);
}

program in_bf16(std::int64_t n, double seconds, dtype type = dtype::bf16) {
  return [=](session&, std::int32_t) { multiply(inputs(type, n), weights(type, n), type, n, seconds); };
}

array converted(const char* name, const array& source, double seconds) {
  NUMDIFF_OP(op, name, cast, numdiff::dtypes(source.type(), dtype::f32, dtype::f8e4m3fn));
  NUMDIFF_INPUT(op, "from", source.seen());
  const array result = source.as(dtype::f8e4m3fn);
  NUMDIFF_OUTPUT(op, "to", result.seen());
  NUMDIFF_SCALAR(op, "seconds", seconds);
  return result;
}

program in_fp8(std::int64_t n, times t) {
  return [=](session&, std::int32_t) {
    const array x = inputs(dtype::bf16, n), w = weights(dtype::bf16, n);
    // The maximum is found inside the cast of x: the time of both belongs to it.
    const array x8 = converted("cast_x", x, t.amax + t.cast_x), w8 = converted("cast_w", w, t.cast_w);
    multiply(x8, w8, dtype::f8e4m3fn, n, t.product);
  };
}

// "op symptom cause" of what was slow, "none".
std::string slow(const analysis::comparison& c) {
  for (const analysis::finding& f : c.findings)
    if (f.symptom == "slow") return f.where.op + " " + f.symptom + " " + f.cause;
  return "none";
}

double of(const analysis::comparison& c, const std::string& name) {
  for (const analysis::finding& f : c.findings)
    for (const auto& [key, value] : f.evidence)
      if (f.symptom == "slow" && key == name) return value;
  return -1;
}

}  // namespace

TEST_CASE("casts take what a small product in fp8 gains") {
  const auto c = compared(in_bf16(32, 7 * us), in_fp8(32, {6 * us, 6 * us, 6 * us, 5 * us}));
  INFO(told(c));
  CHECK(slow(c) == "linear slow cast-overhead");
  CHECK(of(c, "share_of_casts") == doctest::Approx(18.0 / 23));
  CHECK(of(c, "break_even_size_factor") == doctest::Approx(9));
  CHECK(c.verdict == analysis::outcome::agree);  // slow is not wrong
}

TEST_CASE("where the product is long the casts pay") {
  const auto c = compared(in_bf16(64, 950 * us), in_fp8(64, {20 * us, 20 * us, 20 * us, 500 * us}));
  INFO(told(c));
  CHECK(slow(c) == "none");
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("sizes that tensor cores cannot read make a narrower format no faster") {
  const auto c = compared(in_bf16(100, 6 * us, dtype::f32), in_bf16(100, 6 * us));
  INFO(told(c));
  CHECK(slow(c) == "linear slow shape-unfit");
}

TEST_CASE("a product shorter than its launch gains nothing from its format") {
  const auto c = compared(in_bf16(64, 4 * us, dtype::f32), in_bf16(64, 4 * us));
  INFO(told(c));
  CHECK(slow(c) == "linear slow launch-bound");
}

TEST_CASE("a gain that timing does not tell from none is none") {
  CHECK(slow(compared(in_bf16(100, 6.1 * us, dtype::f32), in_bf16(100, 6 * us))) ==
        "linear slow shape-unfit");
  CHECK(slow(compared(in_bf16(100, 6.6 * us, dtype::f32), in_bf16(100, 6 * us))) == "none");
}

TEST_CASE("without times nothing is said about speed") {
  const program untimed = [](session&, std::int32_t) {
    const array x = inputs(dtype::bf16, 8);
    NUMDIFF_OP(op, "linear", matmul, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::bf16).mnk(8, 8, 8));
    NUMDIFF_INPUT(op, "x", x.seen());
  };
  CHECK(slow(compared(in_bf16(8, 7 * us), untimed)) == "none");
}
