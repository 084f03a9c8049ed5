#pragma once
// A small instrumented computation whose result depends on every bit of the floating-point environment.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "numdiff/numdiff.hpp"

namespace workload {

inline std::vector<float> run(std::size_t n) {
  using namespace numdiff::dtypes_short;
  std::vector<float> x(n), y(n);
  std::uint32_t state = 12345;
  for (float& v : x) {
    state = state * 1664525U + 1013904223U;
    // +-2^-64 * [1, 2), made of bits: the same in every rounding mode.
    const std::uint32_t bits = (state & 0x80000000U) | (63U << 23U) | (state >> 8U & 0x7fffffU);
    std::memcpy(&v, &bits, sizeof v);
  }
  for (int step = 0; step < 3; ++step) {
    NUMDIFF_STEP(step);
    NUMDIFF_FACTOR("loss_scale", 1.0 / 3);
    NUMDIFF_OP(op, "square", multiply, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x.data(), {n}));
    // Products of this size are subnormal.
    for (std::size_t i = 0; i < n; ++i) y[i] = x[i] * x[(i * 7 + 1) % n];
    NUMDIFF_OUTPUT(op, "y", numdiff::view(y.data(), {n}));
    NUMDIFF_SCALAR(op, "third", 1.0 / 3);
    for (std::size_t i = 0; i < n; ++i) x[i] = x[i] * 1.0001F + y[i];
  }
  x.insert(x.end(), y.begin(), y.end());
  return x;
}

}  // namespace workload

// The same, compiled with -ffast-math.
std::vector<float> run_with_fast_math(std::size_t n);
