#include "numdiff/hadamard.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace {

TEST_CASE("the transform is the Hadamard matrix by its definition, and inverts") {
  const std::uint16_t signs = 0xb3c5;
  float x[48], y[48];
  for (int i = 0; i < 48; ++i) x[i] = y[i] = static_cast<float>(i * i % 37 - 18);
  numdiff::hadamard16(y, 3, signs);
  for (int group = 0; group < 3; ++group) {
    for (int k = 0; k < 16; ++k) {
      double sum = 0;
      for (int i = 0; i < 16; ++i) {
        int parity = (signs >> i) & 1;
        for (int b = 0; b < 4; ++b) parity ^= (i >> b & 1) & (k >> b & 1);
        sum += (parity ? -1 : 1) * static_cast<double>(x[group * 16 + i]);
      }
      CHECK(static_cast<double>(y[group * 16 + k]) == sum / 4);
    }
  }
  numdiff::inverse_hadamard16(y, 3, signs);
  for (int i = 0; i < 48; ++i) CHECK(y[i] == x[i]);
}

TEST_CASE("an outlier is spread over its group") {
  float x[16] = {};
  x[5] = 8;
  numdiff::hadamard16(x, 1);
  for (const float v : x) CHECK(std::fabs(v) == 2);
}

}  // namespace
