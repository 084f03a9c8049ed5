#include <cmath>
#include <cstddef>
#include <vector>

#include "numdiff/numdiff.hpp"

// Functions of their own: nothing inline is shared with files compiled otherwise.
std::vector<float> run_with_fast_math(std::size_t n);

std::vector<float> run_with_fast_math(std::size_t n) {
  using namespace numdiff::dtypes_short;
  std::vector<float> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = static_cast<float>(i) - 3;
  x[1] = std::nanf("");
  x[2] = HUGE_VALF;
  NUMDIFF_OP(op, "fast", copy, numdiff::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", numdiff::view(x.data(), {n}));
  numdiff::cast_counter c(numdiff::dtype::f16);
  for (const float v : x) c.before_cast(static_cast<double>(v));
  NUMDIFF_COUNTS(op, "c", c);
  return x;
}
