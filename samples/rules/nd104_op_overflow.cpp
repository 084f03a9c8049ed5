// ND104: exp(x) in fp16 without taking the row maximum off first. The near miss takes it off.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 7, columns = 12;
  const bool shifts = v == version::near_miss || v == version::near_miss_reference;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const array x = mapped(dtype::f16, {rows, columns},
                         [&](std::size_t i) { return static_cast<double>(i % 27) / 2 - (shifts ? 13 : 0); });
  const array y = mapped(stored, {rows, columns}, [&](std::size_t i) { return std::exp(x[i]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "gate.exp", exponential, numdiff::dtypes(dtype::f16, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd104("ND104", run, {.own_reference = true});

}  // namespace
