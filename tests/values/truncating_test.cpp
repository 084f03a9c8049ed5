#include "numdiff/truncating.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

namespace {

using numdiff::dtype;
using numdiff::fused_dot;
using numdiff::fused_operand;
namespace models = numdiff::fused_dot_models;

// The model's definition in floating-point terms (frexp, trunc), the way it is published.
double step_by_definition(const numdiff::fused_dot_model& m, int min_exponent, const double* a,
                          const double* b, int count, double c) {
  const auto exponent = [](double v, int smallest) {
    int e = 0;
    std::frexp(v, &e);
    return std::max(e - 1, smallest);
  };
  int top = c != 0 ? exponent(c, -126) : -10000;
  for (int i = 0; i < count; ++i) {
    if (a[i] != 0 && b[i] != 0)
      top = std::max(top, exponent(a[i], min_exponent) + exponent(b[i], min_exponent));
  }
  if (top == -10000) return 0;
  const double unit = std::ldexp(1.0, top - m.fraction_bits);
  double sum = std::trunc(c / unit);
  for (int i = 0; i < count; ++i) sum += std::trunc(a[i] * b[i] / unit);
  sum *= unit;
  if (sum == 0) return 0;
  const double last = std::ldexp(1.0, exponent(sum, -126) - m.output_bits);
  return std::trunc(sum / last) * last;
}

TEST_CASE("one step is the published definition, bit for bit") {
  std::mt19937_64 random(3);
  const std::pair<dtype, numdiff::fused_dot_model> cases[] = {
      {dtype::f8e4m3fn, models::hopper_fp8}, {dtype::f8e5m2, models::ada_fp8},
      {dtype::f16, models::volta_f16},       {dtype::bf16, models::hopper_bf16},
      {dtype::f16, models::ampere_bf16},     {dtype::f8e4m3fn, models::blackwell_fp8},
      {dtype::tf32, models::hopper_tf32},    {dtype::f4e2m1fn, models::blackwell_fp8}};
  for (const auto& [type, model] : cases) {
    const numdiff::format f = numdiff::format_of(type);
    long wrong = 0;
    for (int n = 0; n < 20000; ++n) {
      std::vector<double> a, b;
      while (a.size() < static_cast<std::size_t>(model.products)) {
        const double x = numdiff::decode(type, random()), y = numdiff::decode(type, random());
        if (!std::isfinite(x * y) || (std::fabs(x * y) > 1e30)) continue;
        a.push_back(n % 3 ? std::fabs(x) : x);
        b.push_back(y);
      }
      double c = std::ldexp(static_cast<double>(static_cast<std::int32_t>(random())),
                            static_cast<int>(random() % 40) - 50);
      c = static_cast<double>(static_cast<float>(c));
      const double ours = numdiff::fused_dot_step(model, {type, a.data()}, {type, b.data()}, 0, a.size(), c);
      wrong += ours != step_by_definition(model, f.min_exponent(), a.data(), b.data(), model.products, c);
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("the accumulator-width probe") {
  const double a[32] = {448, 4}, b[32] = {448, 3}, d[32] = {448, 4};
  const fused_operand x{dtype::f8e4m3fn, a}, y{dtype::f8e4m3fn, b}, z{dtype::f8e4m3fn, d};
  CHECK(fused_dot(models::hopper_fp8, x, y, 32) == 200704);
  CHECK(fused_dot(models::hopper_fp8, x, y, 32, 128) == 200704);
  CHECK(fused_dot(models::blackwell_fp8, x, y, 32) == 200716);
  CHECK(fused_dot(models::hopper_fp8, x, z, 32) == 200720);
  CHECK(fused_dot(models::hopper_fp8, x, y, 32, 1) == 200716);  // promotion within a step of the unit
}

TEST_CASE("the promotion probe: a later group meets an empty accumulator") {
  std::vector<double> a(256), b(256);
  a[0] = b[0] = 448;
  a[128] = 4;
  b[128] = 3;
  const fused_operand x{dtype::f8e4m3fn, a.data()}, y{dtype::f8e4m3fn, b.data()};
  CHECK(fused_dot(models::hopper_fp8, x, y, 256) == 200704);
  CHECK(fused_dot(models::hopper_fp8, x, y, 256, 128) == 200716);
}

// Same-sign data lose what the model's published figures say: -7.5 % at K=4096, -25 % at 16384, and -0.055 %
// with promotion.
TEST_CASE("bias of the 13-bit accumulator on uniform data") {
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto bias = [&](std::size_t length, std::size_t promote_every) {
    double sum = 0;
    const int repeats = 16;
    for (int n = 0; n < repeats; ++n) {
      std::vector<double> a(length), b(length);
      double exact = 0;
      for (std::size_t i = 0; i < length; ++i) {
        a[i] =
            numdiff::decode_as<dtype::f8e4m3fn>(numdiff::encode_as<dtype::f8e4m3fn>(uniform(random) * 448));
        b[i] =
            numdiff::decode_as<dtype::f8e4m3fn>(numdiff::encode_as<dtype::f8e4m3fn>(uniform(random) * 448));
        exact += a[i] * b[i];
      }
      sum += fused_dot(models::hopper_fp8, {dtype::f8e4m3fn, a.data()}, {dtype::f8e4m3fn, b.data()}, length,
                       promote_every) /
                 exact -
             1;
    }
    return sum / repeats;
  };
  CHECK(bias(4096, 0) == doctest::Approx(-0.075).epsilon(0.05));
  CHECK(bias(16384, 0) == doctest::Approx(-0.25).epsilon(0.05));
  CHECK(bias(4096, 128) == doctest::Approx(-0.00055).epsilon(0.1));
}

TEST_CASE("results below the smallest normal float are cut at 2^-149") {
  const double a[1] = {0x1.02p-70};
  const fused_operand x{dtype::bf16, a};
  CHECK(fused_dot(models::hopper_bf16, x, x, 1) == 0x1p-140 + 0x1p-146);  // and 2^-154
}

TEST_CASE("strides, tails, non-finite operands") {
  const double a[6] = {1, 9, 2, 9, 3, 9}, b[3] = {4, 5, 6};
  const fused_operand x{dtype::bf16, a, 2}, y{dtype::bf16, b};
  CHECK(fused_dot(models::hopper_bf16, x, y, 3) == 32);
  CHECK(fused_dot(models::hopper_bf16, x, y, 0) == 0);
  CHECK(fused_dot(models::hopper_bf16, x, y, 3, 2) == 32);
  const double infinite[3] = {1, HUGE_VAL, 0}, zeros[3] = {};
  CHECK(fused_dot(models::hopper_bf16, {dtype::bf16, infinite}, y, 3) == HUGE_VAL);
  CHECK(std::isnan(fused_dot(models::hopper_bf16, {dtype::bf16, infinite}, {dtype::bf16, zeros}, 3)));
  const double huge[2] = {0x1.fep127, 0x1.fep127}, two[2] = {2, 2};
  CHECK(fused_dot(models::hopper_bf16, {dtype::bf16, huge}, {dtype::bf16, two}, 2) == HUGE_VAL);
}

}  // namespace
