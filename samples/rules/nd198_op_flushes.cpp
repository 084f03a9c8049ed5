// ND198: the tail of an exponential becomes zero in fp16; what matters of the row stays. The near miss has a
// shorter tail.
#include <cmath>

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 4, columns = 25;
  const bool near = v == version::near_miss || v == version::near_miss_reference;
  const dtype stored = v == version::test || v == version::near_miss ? dtype::f16 : dtype::f32;
  const array x = mapped(dtype::f32, {rows, columns}, [&](std::size_t i) {
    return (near ? -0.5 : -2.0) * static_cast<double>(i % columns);
  });
  const array y = mapped(stored, {rows, columns}, [&](std::size_t i) { return std::exp(x[i]); });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "decay", exponential, numdiff::dtypes(dtype::f32, dtype::f32, stored));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "y", y.seen());
}

const reproduction nd198("ND198", run, {.found_in = "information_lost", .own_reference = true});

}  // namespace
