// Block scales are rounded up to powers of two after the codes were made with the exact ones.
// Reported as huggingface/transformers#47030.
#include <doctest/doctest.h>

#include <cmath>

#include "cases/pair.hpp"
#include "numdiff/format.hpp"
#include "numdiff/quantize.hpp"

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

// Codes made with the scales of their blocks, read with these rounded up to powers of two: many blocks share
// one then. The quantisation is captured, or only the op that reads its codes.
program in_blocks(dtype t, bool captures_cast, bool rounds_scales) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 40, columns = 75;
    constexpr std::size_t down = 8, across = 16, blocks = 5 * 5;
    const array w(dtype::f32, {rows, columns}, normal(rows * columns, 5, 0.4));
    const auto block = [](std::size_t i) { return i / columns / down * 5 + i % columns / across; };
    std::vector<double> amax(blocks, 0);
    for (std::size_t i = 0; i < w.size(); ++i) amax[block(i)] = std::fmax(amax[block(i)], std::fabs(w[i]));
    std::vector<float> scales;
    for (const double a : amax) scales.push_back(static_cast<float>(a / numdiff::format_of(t).max_finite()));
    const array codes = mapped(t, {rows, columns},
                               [&](std::size_t i) { return w[i] / static_cast<double>(scales[block(i)]); });
    if (rounds_scales)
      for (float& s : scales) s = std::exp2(std::ceil(std::log2(s)));
    const numdiff::view seen = codes.seen().scaled(scale_block(down, across, scales.data()));
    if (captures_cast) {
      NUMDIFF_OP(op, "pack", cast, numdiff::dtypes(dtype::f32, dtype::f32, t));
      NUMDIFF_WEIGHT(op, "w", w.seen());
      NUMDIFF_CAST(op, "packed", w.seen(), seen);
    }
    NUMDIFF_OP(op, "unpack", cast, numdiff::dtypes(t, dtype::f32, dtype::f32));
    NUMDIFF_WEIGHT(op, "packed", seen);
    const array y = mapped(dtype::f32, {rows, columns},
                           [&](std::size_t i) { return codes[i] * static_cast<double>(scales[block(i)]); });
    NUMDIFF_OUTPUT(op, "w", y.seen());
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

TEST_CASE("blocks whose rounded scales are alike are told apart by their place") {
  for (const dtype t : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::i8}) {
    const auto c = compared(in_blocks(t, true, false), in_blocks(t, true, true));
    INFO(name_of(t) << "; " << told(c));
    CHECK(first(c) == "pack factor scale-mismatch");
  }
}

TEST_CASE("codes that no op wrote and both runs read, with other scales") {
  for (const dtype t : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::i8}) {
    const auto c = compared(in_blocks(t, false, false), in_blocks(t, false, true));
    INFO(name_of(t) << "; " << told(c));
    CHECK(first(c) == "unpack factor scale-mismatch");
  }
}

TEST_CASE("codes that no op wrote, made anew for other scales, hold the same numbers at every level") {
  const auto made_for = [](float written, float read) -> program {
    return [=](session&, std::int32_t) {
      const array w(dtype::f32, {20, 40}, normal(800, 2));
      const array codes = mapped(dtype::f8e4m3fn, {20, 40},
                                 [&](std::size_t i) { return w[i] / static_cast<double>(written); });
      NUMDIFF_OP(op, "unpack", cast, numdiff::dtypes(dtype::f8e4m3fn, dtype::f32, dtype::f32));
      NUMDIFF_WEIGHT(op, "packed", codes.seen().scaled(scale_per_tensor(&read)));
      const array y =
          mapped(dtype::f32, {20, 40}, [&](std::size_t i) { return codes[i] * static_cast<double>(read); });
      NUMDIFF_OUTPUT(op, "w", y.seen());
    };
  };
  const auto c = compared(made_for(0.01F, 0.01F), made_for(0.013F, 0.013F));
  INFO(told(c));
  CHECK(c.verdict == analysis::outcome::agree);
  // A tenth is less than the rounding of the codes, and all of it is wrong.
  const auto off = compared(made_for(0.01F, 0.01F), made_for(0.01F, 0.011F));
  INFO(told(off));
  CHECK(first(off) == "unpack factor scale-mismatch");
}

TEST_CASE("a second-level scale that changes is another scale, though codes and block scales are the same") {
  const auto packed = [](float at_cast, float at_read) -> program {
    return [=](session&, std::int32_t) {
      constexpr std::size_t rows = 10, columns = 112;
      std::vector<float> raw;
      for (const double v : normal(rows * columns, 31, 0.3)) raw.push_back(static_cast<float>(v));
      const array w(dtype::f32, {rows, columns}, normal(rows * columns, 31, 0.3));
      const quantized q = quantize(raw.data(), rows, columns, recipe_nvfp4());
      const auto seen = [&](float by) {
        return view(q.codes.data(), dtype::f4e2m1fn, {rows, columns})
            .scaled(scale_nvfp4(q.scale_codes.data(), static_cast<double>(q.global_decode_scale * by)));
      };
      const auto pack = [&] {
        NUMDIFF_OP(op, "pack", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f4e2m1fn));
        NUMDIFF_WEIGHT(op, "w", w.seen());
        NUMDIFF_CAST(op, "packed", w.seen(), seen(at_cast));
        return 0;
      };
      pack();
      NUMDIFF_OP(op, "unpack", cast, numdiff::dtypes(dtype::f4e2m1fn, dtype::f32, dtype::f32));
      NUMDIFF_WEIGHT(op, "packed", seen(at_read));
      const array y = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) {
        return q.value(i / columns, i % columns) * static_cast<double>(at_read);
      });
      NUMDIFF_OUTPUT(op, "w", y.seen());
    };
  };
  CHECK(first(compared(packed(1, 1), packed(1, 1.75F))) == "unpack factor scale-mismatch");
  CHECK(first(compared(packed(1, 1), packed(1.75F, 1.75F))) == "pack factor scale-mismatch");
}
