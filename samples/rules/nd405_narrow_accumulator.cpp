// ND405: an FP8 product whose unit cuts every addend 13 bits below the largest of its step, although the op
// says that it adds in fp32. The near miss cuts as well, and starts a new sum every 64 products, and says
// both.
#include "numdiff/truncating.hpp"

#include "reproduction.hpp"

namespace {

using namespace reproduce;
using numdiff::dtype;

void run(version v, numdiff::session&, std::int32_t) {
  constexpr std::int64_t m = 14, n = 18, k = 640;
  const dtype left = dtype::f8e5m2, right = dtype::f8e4m3fn;
  const array a(left, {m, k}, normal(m * k, 51, 0.5, 1)), b(right, {k, n}, normal(k * n, 52, 0.5, 1));
  const std::vector<double> x = a.values(), w = b.values();
  array c(dtype::f32, {m, n});
  for (std::size_t i = 0; i < c.size(); ++i) {
    const double *row = x.data() + i / n * k, *column = w.data() + i % n;
    if (v == version::reference) {
      float sum = 0;
      for (std::size_t q = 0; q < k; ++q) sum += static_cast<float>(row[q] * column[q * n]);
      c.set(i, static_cast<double>(sum));
    } else {
      c.set(i, fused_dot(numdiff::fused_dot_models::ada_fp8, {left, row, 1}, {right, column, n}, k,
                         v == version::near_miss ? 64 : 0));
    }
  }
  numdiff::dtypes settings(left, right, dtype::f32, dtype::f32);
  if (v == version::near_miss)
    settings = numdiff::dtypes(left, right, numdiff::truncating(22), dtype::f32).promote_every(64);
  settings = settings.mnk(m, n, k);
  NUMDIFF_STEP(0);
  NUMDIFF_PHASE(backward);
  NUMDIFF_OP(op, "expert.down", matmul, settings);
  NUMDIFF_INPUT(op, "dy", a.seen());
  NUMDIFF_WEIGHT(op, "w", b.seen());
  NUMDIFF_GRADIENT(op, "dx", c.seen());
}

const reproduction nd405("ND405", run);

}  // namespace
