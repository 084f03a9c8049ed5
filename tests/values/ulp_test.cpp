#include "numdiff/ulp.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "values/known_formats.hpp"

namespace {

using numdiff::dtype;
using numdiff::next_down;
using numdiff::next_up;
using numdiff::ordered;
using numdiff::ulp;
using numdiff::ulp_distance;

static_assert(ulp_distance(dtype::bf16, 0x8000, 0) == 0);

std::vector<dtype> small_formats() {
  std::vector<dtype> all;
  for (std::uint16_t i = 1; i < numdiff::dtype_count; ++i) {
    const dtype t = static_cast<dtype>(i);
    if (numdiff::format_of(t).bits <= 16 && t != dtype::boolean) all.push_back(t);
  }
  return all;
}

TEST_CASE("codes in the order of their values are one step apart") {
  for (const dtype t : small_formats()) {
    CAPTURE(std::string(numdiff::name_of(t)));
    std::vector<std::uint64_t> codes;
    for (std::uint64_t c = 0; c < (std::uint64_t{1} << numdiff::format_of(t).bits); ++c) {
      const numdiff::number_class k = numdiff::classify(t, c);
      if (k != numdiff::number_class::nan && k != numdiff::number_class::negative_zero) codes.push_back(c);
    }
    std::sort(codes.begin(), codes.end(), [&](auto a, auto b) { return decode(t, a) < decode(t, b); });
    long wrong = 0;
    for (std::size_t i = 0; i + 1 < codes.size(); ++i) {
      wrong += ulp_distance(t, codes[i], codes[i + 1]) != 1 || ulp_distance(t, codes[i + 1], codes[i]) != 1;
      wrong += next_up(t, codes[i]) != codes[i + 1] || next_down(t, codes[i + 1]) != codes[i];
      wrong += code_at(t, ordered(t, codes[i])) != codes[i];
      const double low = decode(t, codes[i]), high = decode(t, codes[i + 1]);
      if (std::isfinite(low) && std::isfinite(high)) {
        wrong += high - low != ulp(t, std::fabs(low) < std::fabs(high) ? low : high);
      }
    }
    CHECK(wrong == 0);
    CHECK(ulp_distance(t, codes.front(), codes.back()) == codes.size() - 1);
    CHECK(next_up(t, codes.back()) == codes.back());
    CHECK(next_down(t, codes.front()) == codes.front());
  }
}

TEST_CASE("NaN, wide formats and spacing out of range") {
  CHECK(ulp_distance(dtype::f16, 0x7e00, 0xfe01) == 0);
  CHECK(ulp_distance(dtype::f16, 0x7e00, 0x3c00) == numdiff::no_ulp_distance);
  CHECK(next_up(dtype::f16, 0x7e00) == 0x7e00);
  CHECK(ulp_distance(dtype::f32, 0x80000001, 1) == 2);
  CHECK(ulp_distance(dtype::f64, 0xfff0000000000000, 0x7ff0000000000000) == 0xffe0000000000000);
  CHECK(ulp_distance(dtype::tf32, 0x3f800000, 0x3f802000) == 1);
  CHECK(next_up(dtype::tf32, 0x3f800000) == 0x3f802000);
  CHECK(ulp_distance(dtype::i64, std::uint64_t{1} << 63, 0x7fffffffffffffff) == ~std::uint64_t{0});
  CHECK(ulp_distance(dtype::u64, 0, ~std::uint64_t{0}) == ~std::uint64_t{0});
  CHECK(next_up(dtype::u64, 0x7fffffffffffffff) == std::uint64_t{1} << 63);
  CHECK(next_up(dtype::u64, ~std::uint64_t{0}) == ~std::uint64_t{0});
  CHECK(next_down(dtype::u64, 0) == 0);
  CHECK(next_down(dtype::i32, 0) == 0xffffffff);
  CHECK(ulp(dtype::f64, 0.0) == 5e-324);
  CHECK(ulp(dtype::f32, 1.0) == 0x1p-23);
  CHECK(ulp(dtype::f16, 1e9) == 32);
  CHECK(ulp(dtype::f8e4m3fn, HUGE_VAL) == 32);
  CHECK(ulp(dtype::i8, 100.0) == 1);
  CHECK(ulp(dtype::mxint8, 0.0) == 1.0 / 64);
  CHECK(std::isnan(ulp(dtype::f32, std::nan(""))));
}

}  // namespace
