// Block scales are rounded up to powers of two after the codes were made with the exact ones.
// Reported as huggingface/transformers#47030.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program decoded(bool rounds_scales, bool requantises) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 2, columns = 64;
    std::vector<double> raw = normal(rows * columns, 3, 90);
    for (double& v : raw) v = std::fmax(-440, std::fmin(440, v));
    raw[5] = 448;
    raw[columns + 9] = -449;
    const array x(dtype::f32, {rows, columns}, raw);
    std::vector<float> scales;
    for (std::int64_t r = 0; r < rows; ++r) {
      double amax = 0;
      for (std::int64_t k = 0; k < columns; ++k)
        amax = std::fmax(amax, std::fabs(raw[static_cast<std::size_t>(r * columns + k)]));
      scales.push_back(static_cast<float>(amax / 448));
    }
    std::vector<float> used = scales;
    if (rounds_scales)
      for (float& s : used) s = std::exp2(std::ceil(std::log2(s)));
    const std::vector<float>& encoded = requantises ? used : scales;
    const array codes = mapped(dtype::f8e4m3fn, {rows, columns}, [&](std::size_t i) {
      return x[i] / static_cast<double>(encoded[i / columns]);
    });
    NUMDIFF_OP(op, "quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
    NUMDIFF_INPUT(op, "w", x.seen());
    NUMDIFF_CAST(op, "w8", x.seen(), codes.seen().scaled(scale_per_row(used.data())));
  };
}

}  // namespace

TEST_CASE("one block is right and the other off by the ratio of its scales") {
  const auto c = compared(decoded(false, false), decoded(true, false));
  INFO(told(c));
  CHECK(first(c) == "quantise factor scale-mismatch");
  CHECK(nonfinite(c) == "none");
}

TEST_CASE("quantised anew with the rounded scales nothing is wrong") {
  const auto c = compared(decoded(false, false), decoded(true, true));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
}
