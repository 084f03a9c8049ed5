// The block scale of an NVFP4 block of zeros: a default of 1 over the global scale exceeds the scale's
// format. Reported as NVIDIA/Model-Optimizer#1397.
#include <doctest/doctest.h>

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

}  // namespace

TEST_CASE("a guard value beyond the format of the scale makes the scale NaN") {
  const auto c = compared(scales(0.5, 0), scales(0.5, 1));
  INFO(told(c));
  CHECK(first(c) == "scale cast nan scale-out-of-range");
  CHECK(nonfinite(c) == "scale cast");
}
