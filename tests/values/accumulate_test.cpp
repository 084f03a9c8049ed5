#include "numdiff/accumulate.hpp"

#include <doctest/doctest.h>

#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <random>

namespace {

using numdiff::add_rounded;
using numdiff::dtype;
using numdiff::multiply_add_rounded;
using numdiff::detail::bits_of;
using numdiff::detail::double_of;

static_assert(add_rounded<dtype::bf16>(256, 0.9) == 256);

TEST_CASE("f32 sums and fused multiply-adds are the machine's") {
  std::mt19937_64 random(1);
  long wrong = 0;
  const auto same = [](double ours, float theirs) {
    return std::isnan(theirs) ? std::isnan(ours) : ours == static_cast<double>(theirs);
  };
  for (int i = 0; i < 1000000; ++i) {
    const std::uint32_t x = static_cast<std::uint32_t>(random());
    std::uint32_t y = static_cast<std::uint32_t>(random());
    if (i % 2) y = (x & 0x7f800000u) + (y & 0x81ffffffu);  // exponents that meet
    const float a = numdiff::detail::float_of(x), b = numdiff::detail::float_of(y);
    float c = numdiff::detail::float_of(static_cast<std::uint32_t>(random()));
    wrong += !same(add_rounded<dtype::f32>(static_cast<double>(a), static_cast<double>(b)), a + b);
    if (i % 4 > 1) c = -a * b * (1 + std::ldexp(static_cast<float>(i % 16), -23));  // cancels
    wrong += !same(multiply_add_rounded(dtype::f32, static_cast<double>(c), static_cast<double>(a),
                                        static_cast<double>(b)),
                   std::fma(a, b, c));
  }
  CHECK(wrong == 0);
}

TEST_CASE("the inner sum is rounded to odd") {
  using wide = boost::multiprecision::number<boost::multiprecision::cpp_bin_float<2200>,
                                             boost::multiprecision::et_off>;
  std::mt19937_64 random(2);
  long wrong = 0;
  for (int i = 0; i < 20000; ++i) {
    double a = double_of(random()), b = double_of(random());
    if (i % 2) b = double_of((bits_of(a) + (random() % 128 << 52)) ^ (random() & 0x800fffffffffffffu));
    if (i % 16 == 3) a = double_of(random() & 0x801fffffffffffffu);  // around the smallest normal
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double odd = double_of(numdiff::detail::sum_to_odd(bits_of(a), bits_of(b)));
    if (std::isinf(odd)) {
      wrong += !std::isinf(a + b);
      continue;
    }
    const wide error = wide(a) + wide(b) - wide(odd);
    if (error == 0) continue;
    wrong += (bits_of(odd) & 1) == 0;
    wrong += abs(error) >= wide(std::nextafter(std::fabs(odd), HUGE_VAL)) - wide(std::fabs(odd));
  }
  CHECK(wrong == 0);
}

TEST_CASE("a tie that a tail breaks is not rounded twice") {
  // 1 + 2^-8 is a tie of bf16 that goes down to even; 2^-60 more goes up, and is lost in a double sum
  CHECK(add_rounded(dtype::bf16, 1, 0x1p-8 + 0x1p-59) == 1 + 0x1p-7);
  CHECK(add_rounded(dtype::bf16, 1, 0x1p-8) == 1);
  CHECK(add_rounded<dtype::f16>(2048, 1) == 2048);
  CHECK(add_rounded<dtype::f16>(65504, 16) == HUGE_VAL);
  CHECK(add_rounded(dtype::f16, 65504, 16, {numdiff::rounding::toward_zero}) == 65504);
  CHECK(std::isnan(add_rounded<dtype::f32>(HUGE_VAL, -HUGE_VAL)));
  CHECK(std::signbit(add_rounded<dtype::f32>(-0.0, -0.0)));
  CHECK(!std::signbit(add_rounded<dtype::f32>(0.0, -0.0)));
  CHECK(!std::signbit(add_rounded<dtype::f32>(-0.0, 0.0)));
  CHECK(!std::signbit(add_rounded<dtype::f32>(1.5, -1.5)));
}

TEST_CASE("sums stagnate where the literature says") {
  double bf16 = 0, f16 = 0;
  for (int i = 0; i < 5000; ++i) {
    if (i < 1000) bf16 = add_rounded<dtype::bf16>(bf16, 1);
    f16 = add_rounded<dtype::f16>(f16, 1);
  }
  CHECK(bf16 == 256);
  CHECK(f16 == 2048);
}

}  // namespace
