#include "numdiff/convert.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "numdiff/classify.hpp"

namespace {

using numdiff::dtype;

std::uint64_t code_in(dtype t, const std::vector<unsigned char>& bytes, std::size_t i) {
  const std::size_t size = numdiff::bytes_of(t) / (numdiff::is_complex(t) ? 2 : 1);
  std::uint64_t code = 0;
  std::memcpy(&code, bytes.data() + i * size, size);
  return code;
}

bool same_bits(double a, double b) {
  return numdiff::detail::bits_of(a) == numdiff::detail::bits_of(b) || (std::isnan(a) && std::isnan(b));
}

TEST_CASE("arrays convert as their elements do, in any length and alignment") {
  std::uint64_t random = 1;
  for (std::uint16_t id = 1; id < numdiff::dtype_count; ++id) {
    const dtype t = static_cast<dtype>(id);
    CAPTURE(std::string(numdiff::name_of(t)));
    for (const std::size_t count : {std::size_t{1}, std::size_t{7}, std::size_t{1000}}) {
      std::vector<double> wide(count), wide_back(count);
      std::vector<float> narrow(count), narrow_back(count);
      std::vector<std::uint64_t> bits(count);
      for (std::size_t i = 0; i < count; ++i) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        bits[i] = random ^ (random >> 30);
        wide[i] = std::ldexp(static_cast<double>(static_cast<std::int64_t>(random)),
                             -60 + static_cast<int>(i % 13));
        if (i % 50 == 49) wide[i] = i % 100 == 99 ? std::nan("") : HUGE_VAL;
        narrow[i] = static_cast<float>(wide[i]);
      }
      std::vector<unsigned char> codes(count * 16 + 1);
      for (const numdiff::rounding mode : {numdiff::rounding::nearest_even, numdiff::rounding::toward_zero,
                                           numdiff::rounding::up, numdiff::rounding::stochastic}) {
        const numdiff::cast_rule rule{mode, numdiff::overflow::to_infinity};
        long wrong = 0;
        REQUIRE(numdiff::encode(t, narrow.data(), codes.data(), count, rule, bits.data()));
        for (std::size_t i = 0; i < count; ++i) {
          wrong += code_in(t, codes, i) != numdiff::encode(t, narrow[i], rule, bits[i]);
        }
        REQUIRE(numdiff::encode(t, wide.data(), codes.data(), count, rule, bits.data()));
        for (std::size_t i = 0; i < count; ++i) {
          wrong += code_in(t, codes, i) != numdiff::encode(t, wide[i], rule, bits[i]);
        }
        REQUIRE(numdiff::decode(t, codes.data(), wide_back.data(), count));
        REQUIRE(numdiff::decode(t, codes.data(), narrow_back.data(), count));
        for (std::size_t i = 0; i < count; ++i) {
          const double x = numdiff::decode(t, code_in(t, codes, i));
          wrong += !same_bits(wide_back[i], x);
          wrong +=
              !same_bits(static_cast<double>(narrow_back[i]), static_cast<double>(static_cast<float>(x)));
        }
        CHECK(wrong == 0);
      }
      // one byte off
      std::vector<unsigned char> shifted(codes.size() + 1);
      std::memcpy(shifted.data() + 1, codes.data(), codes.size() - 1);
      std::vector<double> again(count);
      REQUIRE(numdiff::decode(t, shifted.data() + 1, again.data(), count));
      CHECK(std::equal(again.begin(), again.end(), wide_back.begin(), same_bits));
    }
  }
}

TEST_CASE("every code of up to 16 bits, to float and to double, special codes included") {
  for (std::uint16_t id = 1; id < numdiff::dtype_count; ++id) {
    const dtype t = static_cast<dtype>(id);
    if (numdiff::bytes_of(t) > 2) continue;
    CAPTURE(std::string(numdiff::name_of(t)));
    const std::size_t size = numdiff::bytes_of(t), count = std::size_t{1} << (8 * size);
    std::vector<unsigned char> codes(count * size);
    for (std::size_t i = 0; i < count; ++i) std::memcpy(codes.data() + i * size, &i, size);
    std::vector<double> wide(count);
    std::vector<float> narrow(count);
    REQUIRE(numdiff::decode(t, codes.data(), wide.data(), count));
    REQUIRE(numdiff::decode(t, codes.data(), narrow.data(), count));
    long wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
      wrong += !same_bits(wide[i], numdiff::decode(t, i));
      wrong += !same_bits(static_cast<double>(narrow[i]), wide[i]);
    }
    CHECK(wrong == 0);
  }
}

// The straight-line path takes blocks whose elements are all zero or normal: put a stranger in each place.
TEST_CASE("blocks with one element out of the normal range") {
  const float strangers[] = {0.0f, -0.0f, 1e-45f, -1e-40f, 1e-6f, 0.3f, 3e38f, -HUGE_VALF, std::nanf("")};
  for (std::uint16_t id = 1; id < numdiff::dtype_count; ++id) {
    const dtype t = static_cast<dtype>(id);
    CAPTURE(std::string(numdiff::name_of(t)));
    long wrong = 0;
    for (const float stranger : strangers) {
      for (std::size_t at = 0; at < 35; ++at) {
        std::vector<float> values(35, 1.7f);
        values[at] = stranger;
        const std::vector<double> wide(values.begin(), values.end());
        for (const numdiff::overflow past : {numdiff::overflow::to_maximum, numdiff::overflow::to_infinity}) {
          const numdiff::cast_rule rule{numdiff::rounding::nearest_even, past};
          std::vector<unsigned char> codes(35 * 8), wide_codes(35 * 8);
          REQUIRE(numdiff::encode(t, values.data(), codes.data(), 35, rule));
          REQUIRE(numdiff::encode(t, wide.data(), wide_codes.data(), 35, rule));
          for (std::size_t i = 0; i < 35; ++i) {
            wrong += code_in(t, codes, i) != numdiff::encode(t, values[i], rule);
            wrong += code_in(t, wide_codes, i) != numdiff::encode(t, values[i], rule);
          }
        }
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("unknown dtypes convert nothing") {
  double x = 3;
  CHECK(!numdiff::decode(dtype::unknown, "abcdefgh", &x, 1));
  CHECK(!numdiff::encode(static_cast<dtype>(999), &x, nullptr, 1));
  CHECK(x == 3);
}

}  // namespace
