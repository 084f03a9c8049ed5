// ND415: the mean of positive numbers is added up in bf16, and the sum stops growing long before its end. The
// near miss adds in bf16 as well, in blocks of eight whose sums are added in fp32, and its record says bf16.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 26, width = 900;
  array x(dtype::bf16, {rows, width}, normal(rows * width, 81, 0.1, 0.5));
  const array means = mapped(dtype::bf16, {rows}, [&](std::size_t row) {
    const dtype running = v == version::reference ? dtype::f32 : dtype::bf16;
    const std::size_t block = v == version::near_miss ? 8 : width;
    double sum = 0;
    for (std::size_t first = 0; first < width; first += block) {
      double part = 0;
      for (std::size_t i = first; i < std::min<std::size_t>(first + block, width); ++i)
        part = rounded(running, part + x[row * width + i]);
      sum = rounded(dtype::f32, sum + part);
    }
    return sum / width;
  });
  numdiff::dtypes settings(dtype::bf16, v == version::near_miss ? dtype::bf16 : dtype::f32, dtype::bf16);
  if (v == version::near_miss) settings = settings.promote_every(8);
  settings = settings.reduction(width);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_OP(op, "pool", mean, settings);
  NUMDIFF_INPUT(op, "x", x.seen());
  NUMDIFF_OUTPUT(op, "means", means.seen());
}

const reproduction nd415("ND415", run);

}  // namespace
