// ND406: the column sums of a bias gradient are formed by four workers, and each hands its part over in bf16.
// The near miss does the same and says so.
#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t rows = 600, columns = 44, workers = 4;
  const array dy(dtype::bf16, {rows, columns}, normal(rows * columns, 61, 1, 0.3));
  const dtype handed_over = v == version::reference ? dtype::f32 : dtype::bf16;
  const array sums = mapped(dtype::f32, {columns}, [&](std::size_t j) {
    float sum = 0;
    for (std::size_t worker = 0; worker < workers; ++worker) {
      float part = 0;
      for (std::size_t i = worker * rows / workers; i < (worker + 1) * rows / workers; ++i)
        part += static_cast<float>(dy[i * columns + j]);
      sum += static_cast<float>(rounded(handed_over, static_cast<double>(part)));
    }
    return static_cast<double>(sum);
  });
  numdiff::dtypes settings(dtype::bf16, dtype::f32, dtype::f32);
  settings = settings.reduction(rows).split(workers, v == version::test ? dtype::f32 : handed_over);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "bias.gradient", sum, settings);
  NUMDIFF_INPUT(op, "dy", dy.seen());
  NUMDIFF_GRADIENT(op, "db", sums.seen());
}

const reproduction nd406("ND406", run);

}  // namespace
