// ND402: a moving average kept in fp16 is moved by a quarter of its spacing, which rounding takes back. The
// near miss rounds the same sums at random, and says so: one element in four moves by four times the step.
#include "random_rounding.hpp"
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t n = 720;
  const dtype kept = v == version::reference ? dtype::f32 : dtype::f16;
  const array average =
      mapped(dtype::f16, {n}, [](std::size_t i) { return 2 + 0.0025 * static_cast<double>(i); }).as(kept);
  const array steps(dtype::f32, {n}, normal(n, 22, 5e-5, 5e-4));
  numdiff::dtypes settings(kept, dtype::f32, kept);
  if (v == version::near_miss) settings = settings.rounding(numdiff::rounding::stochastic);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(optimizer);
  NUMDIFF_OP(op, "average.move", subtract, settings);
  NUMDIFF_STATE(op, "average", average.seen());
  NUMDIFF_INPUT(op, "step", steps.seen());
  random_rounding at_random(5);
  const array next = mapped(kept, {n}, [&](std::size_t i) {
    const double exact = average[i] - steps[i];
    return v == version::near_miss ? at_random(kept, exact) : exact;
  });
  NUMDIFF_STATE(op, "average.new", next.seen());
}

const reproduction nd402("ND402", run);

}  // namespace
