// ND189: a running average in bf16 whose steps are below half an ulp of it. The near miss takes larger steps.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t n = 40;
  const bool large = v == version::near_miss || v == version::near_miss_reference;
  const dtype t = v == version::test || v == version::near_miss ? dtype::bf16 : dtype::f32;
  const array average = mapped(t, {n}, [](std::size_t i) { return 2 + static_cast<double>(i) / 64; });
  const array step = mapped(t, {n}, [&](std::size_t i) {
    return (large ? 0x1p-4 : 0x1p-12) * (1 + static_cast<double>(i % 4) / 4);
  });
  const array next = mapped(t, {n}, [&](std::size_t i) { return average[i] + step[i]; });
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(optimizer);
  NUMDIFF_OP(op, "average.update", add, numdiff::dtypes(t, dtype::f32, t));
  NUMDIFF_STATE(op, "average", average.seen());
  NUMDIFF_INPUT(op, "step", step.seen());
  NUMDIFF_STATE(op, "average.new", next.seen());
}

const reproduction nd189("ND189", run, {.found_in = "information_lost", .own_reference = true});

}  // namespace
