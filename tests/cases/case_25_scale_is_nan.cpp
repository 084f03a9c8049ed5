// The block scale of an NVFP4 block of zeros: a default of 1 over the global scale exceeds the scale's
// format. Reported as NVIDIA/Model-Optimizer#1397.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "cases/pair.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

program scales(double global_amax, double guard) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t blocks = 4;
    const double global = 2688 / global_amax;
    const array wide = mapped(dtype::f32, {blocks}, [&](std::size_t i) {
      return (i == 2 ? guard : global_amax / 6 * static_cast<double>(i + 1) / 4) * global;
    });
    cast_rule plain;
    plain.past = overflow::to_infinity;
    const array s = wide.as(dtype::ue4m3, plain);
    NUMDIFF_OP(op, "scale cast", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::ue4m3));
    NUMDIFF_INPUT(op, "wide", wide.seen());
    NUMDIFF_CAST(op, "scales", wide.seen(), s.seen());
  };
}

// The scales in the signed format that frameworks use for both, and what is packed and read with them.
program packed(double guard) {
  return [=](session&, std::int32_t) {
    constexpr std::int64_t rows = 14, columns = 64, blocks = rows * columns / 16;
    const double amax_of_all = 2, global = 2688 / amax_of_all;
    const auto amax = [&](std::size_t b) {
      return b % 7 == 2 ? 0 : amax_of_all * static_cast<double>(1 + b % 5) / 5;
    };
    const array wide = mapped(dtype::f32, {rows, columns / 16},
                              [&](std::size_t b) { return (amax(b) == 0 ? guard : amax(b) / 6) * global; });
    static_assert(blocks == 56);
    cast_rule plain;
    plain.past = overflow::to_infinity;
    const array s = wide.as(dtype::f8e4m3fn, plain);
    const auto scales_cast = [&] {
      NUMDIFF_OP(op, "scale cast", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn));
      NUMDIFF_INPUT(op, "wide", wide.seen());
      NUMDIFF_CAST(op, "scales", wide.seen(), s.seen());
      return 0;
    };
    scales_cast();
    std::vector<double> raw = normal(rows * columns, 4, 0.5);
    for (std::size_t i = 0; i < raw.size(); ++i)
      raw[i] = std::fmax(-amax(i / 16), std::fmin(amax(i / 16), raw[i]));
    const array w(dtype::f32, {rows, columns}, raw);
    const array codes = mapped(dtype::f4e2m1fn, {rows, columns},
                               [&](std::size_t i) { return w[i] == 0 ? 0 : w[i] / (s[i / 16] / global); });
    const numdiff::view v = codes.seen().scaled(scale_nvfp4(s.data(), 1 / global));
    const auto pack = [&] {
      NUMDIFF_OP(op, "pack", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f4e2m1fn));
      NUMDIFF_INPUT(op, "w", w.seen());
      NUMDIFF_CAST(op, "codes", w.seen(), v);
      return 0;
    };
    pack();
    NUMDIFF_OP(op, "unpack", cast, numdiff::dtypes(dtype::f4e2m1fn, dtype::f32, dtype::bf16));
    NUMDIFF_INPUT(op, "codes", v);
    const array y =
        mapped(dtype::bf16, {rows, columns}, [&](std::size_t i) { return codes[i] * s[i / 16] / global; });
    NUMDIFF_OUTPUT(op, "w", y.seen());
  };
}

}  // namespace

TEST_CASE("a guard value beyond the format of the scale makes the scale NaN") {
  const auto c = compared(scales(0.5, 0), scales(0.5, 1));
  INFO(told(c));
  CHECK(first(c) == "scale cast nan scale-out-of-range");
  CHECK(nonfinite(c) == "scale cast");
}

TEST_CASE("scales are known by the views that use them, and who reads codes under NaN is not to blame") {
  const auto c = compared(packed(0), packed(1));
  INFO(told(c));
  CHECK(first(c) == "scale cast nan scale-out-of-range");
  CHECK(nonfinite(c) == "scale cast");
  CHECK(std::ranges::none_of(c.roots, [](const auto& f) { return f.where.op == "unpack"; }));
  CHECK(lost(c).find("scale cast") == std::string::npos);
}
