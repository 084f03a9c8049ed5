// Products of unsigned and signed bytes are added in pairs in 16 bits that saturate.
// Reported as pytorch/pytorch#44939.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

constexpr std::int64_t rows = 4, depth = 2, columns = 2;

program product(bool saturates) {
  return [=](session&, std::int32_t) {
    const array a(dtype::u8, {rows, depth}, {211, 171, 255, 255, 10, 20, 128, 250});
    const array w(dtype::i8, {depth, columns}, {71, 113, 107, 113});
    NUMDIFF_OP(op, "int8 product", matmul,
               numdiff::dtypes(dtype::u8, dtype::i8, dtype::i32, dtype::i32).mnk(rows, columns, depth));
    NUMDIFF_INPUT(op, "a", a.seen());
    NUMDIFF_WEIGHT(op, "w", w.seen());
    const array y = mapped(dtype::i32, {rows, columns}, [&](std::size_t i) {
      const double pair = a[i / 2 * 2] * w[i % 2] + a[i / 2 * 2 + 1] * w[2 + i % 2];
      return saturates ? std::fmax(-32768, std::fmin(32767, pair)) : pair;
    });
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

enum class sums { exact, saturating_pairs, wrapping_pairs, saturating };

// An odd depth, both operands under scales, the result a float.
program scaled_product(sums how, double size) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t m = 7, k = 65, n = 11;
    const std::vector<double> left = normal(m * k, 3, 120), right = normal(k * n, 4, size);
    const array a = mapped(dtype::u8, {m, k}, [&](std::size_t i) { return std::fabs(left[i]); }),
                w = mapped(dtype::i8, {k, n}, [&](std::size_t i) { return right[i]; });
    const float a_scale = 0.02F, w_scale = 0.003F;
    NUMDIFF_OP(op, "int8 product", matmul,
               numdiff::dtypes(dtype::u8, dtype::i8, dtype::i32, dtype::f32).mnk(m, n, k));
    NUMDIFF_INPUT(op, "a", a.seen().scaled(scale_per_tensor(&a_scale)));
    NUMDIFF_WEIGHT(op, "w", w.seen().scaled(scale_per_tensor(&w_scale)));
    const array y = mapped(dtype::f32, {m, n}, [&](std::size_t i) {
      double sum = 0;
      const auto term = [&](std::size_t at) { return at < k ? a[i / n * k + at] * w[at * n + i % n] : 0; };
      for (std::size_t at = 0; at < k; at += 2) {
        double pair = term(at) + term(at + 1);
        if (how == sums::saturating_pairs) pair = std::fmax(-32768, std::fmin(32767, pair));
        if (how == sums::wrapping_pairs)
          pair = static_cast<double>(static_cast<std::int16_t>(static_cast<std::int32_t>(pair)));
        sum += pair;
        if (how == sums::saturating) sum = std::fmax(-32768, std::fmin(32767, sum));
      }
      return sum * static_cast<double>(a_scale) * static_cast<double>(w_scale);
    });
    NUMDIFF_OUTPUT(op, "y", y.seen());
  };
}

}  // namespace

TEST_CASE("the accumulator saturates, no output code does") {
  const auto c = compared(product(false), product(true));
  INFO(told(c));
  CHECK(first(c) == "int8 product saturation accumulator-overflow");
}

TEST_CASE("sums of 16 bits behind a result that is a float") {
  for (const sums how : {sums::saturating_pairs, sums::wrapping_pairs, sums::saturating}) {
    const auto c = compared(scaled_product(sums::exact, 90), scaled_product(how, 90));
    INFO(static_cast<int>(how) << "; " << told(c));
    CHECK(first(c) == "int8 product saturation accumulator-overflow");
  }
}

TEST_CASE("codes so small that no pair leaves 16 bits") {
  const auto c = compared(scaled_product(sums::exact, 12), scaled_product(sums::saturating_pairs, 12));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}

TEST_CASE("a cast to bytes that keeps the low bits of what is past their range") {
  const auto stored = [](dtype t, bool wraps) -> program {
    return [=](session&, std::int32_t) {
      const double lowest = t == dtype::i8 ? -128 : 0;
      const array x(dtype::f32, {20, 25}, normal(500, 3, 90, lowest + 128));
      const array codes = mapped(t, {20, 25}, [&](std::size_t i) {
        const double whole = std::nearbyint(x[i]);
        return wraps ? whole - 256 * std::floor((whole - lowest) / 256) : whole;
      });
      NUMDIFF_OP(op, "store", cast, numdiff::dtypes(dtype::f32, dtype::f32, t));
      NUMDIFF_INPUT(op, "x", x.seen());
      NUMDIFF_CAST(op, "codes", x.seen(), codes.seen());
    };
  };
  for (const dtype t : {dtype::i8, dtype::u8}) {
    const auto c = compared(stored(t, false), stored(t, true));
    INFO(name_of(t) << "; " << told(c));
    CHECK(first(c) == "store overflow cast-overflow");
    CHECK(compared(stored(t, false), stored(t, false)).verdict == analysis::outcome::agree);
  }
}
