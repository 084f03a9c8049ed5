// ND411: the sum of a residual is rounded to bf16 at random, and the record says to nearest. In the near miss
// it is rounded up or down by a coin that does not care how near either is: an error, and not that of random
// rounding.
#include <cmath>

#include "random_rounding.hpp"
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

double by_coin(double x, std::size_t toss) {
  const double down = rounded(dtype::bf16, x, {numdiff::rounding::toward_zero});
  if (down == x || (toss * 2654435761U >> 7U) % 2 == 0) return down;
  return down + std::copysign(std::ldexp(1.0, std::ilogb(x) - 7), x);  // bf16 keeps 7 bits after the first
}

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t tokens = 30, width = 64;
  const array x(dtype::bf16, {tokens, width}, normal(tokens * width, 121)),
      y(dtype::f32, {tokens, width}, normal(tokens * width, 122, 0.1));
  random_rounding at_random(9);
  const array sum = mapped(dtype::bf16, {tokens, width}, [&](std::size_t i) {
    const double exact = x[i] + y[i];
    return v == version::test        ? at_random(dtype::bf16, exact)
           : v == version::near_miss ? by_coin(exact, i)
                                     : exact;
  });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "residual.add", add, numdiff::dtypes(dtype::bf16, dtype::f32, dtype::bf16));
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_INPUT(op, "y", y.seen());
  NUMDIFF_OUTPUT(op, "sum", sum.seen());
}

const reproduction nd411("ND411", run, {.near_miss = "ND903"});

}  // namespace
