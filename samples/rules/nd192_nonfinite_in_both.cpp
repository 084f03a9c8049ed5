// ND192: both runs take the root of a number that an earlier rounding made negative, and both get NaN there.
// In the near miss the NaN came with the data.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t n = 21;
  const bool given = v == version::near_miss || v == version::near_miss_reference;
  const array x = mapped(dtype::f32, {n}, [&](std::size_t i) {
    return i == 8 ? (given ? std::nan("") : -1e-7) : 0.5 * static_cast<double>(i);
  });
  const array y = mapped(dtype::f32, {n}, [&](std::size_t i) { return std::sqrt(x[i]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "deviation", square_root, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f32));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd192("ND192", run, {.found_in = "nonfinite_origin", .own_reference = true});

}  // namespace
