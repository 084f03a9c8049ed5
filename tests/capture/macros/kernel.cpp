// A kernel with every kind of macro (INSTRUMENTED) or none.
#include <cmath>
#include <cstddef>
#include <vector>
#ifdef INSTRUMENTED
#include "numdiff/numdiff.hpp"
#endif

void rms_norm(const float* x, const float* gamma, float eps, float* y, std::size_t rows,
              std::size_t columns) {
#ifdef INSTRUMENTED
  using namespace numdiff::dtypes_short;
  NUMDIFF_STEP(static_cast<long>(rows));
  NUMDIFF_MICRO_BATCH(0);
  NUMDIFF_PHASE(forward);
  NUMDIFF_SCOPE("decoder.layer");
  NUMDIFF_TAG("request", 17);
  NUMDIFF_FACTOR("loss_scale", 2.0);
  NUMDIFF_CONTEXT(numdiff::current_context());
  NUMDIFF_OP(op, "norm", rms_norm, numdiff::dtypes(f32, f32, f32).reduction(columns));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {rows, columns}).shard("tp", 1));
  NUMDIFF_WEIGHT(op, "gamma", numdiff::view(gamma, {columns}));
  NUMDIFF_SCALAR(op, "eps", eps);
#endif
  for (std::size_t r = 0; r < rows; ++r) {
    float sum = 0;
    for (std::size_t c = 0; c < columns; ++c) sum += x[r * columns + c] * x[r * columns + c];
    const float scale = 1.0F / std::sqrt(sum / static_cast<float>(columns) + eps);
    for (std::size_t c = 0; c < columns; ++c) y[r * columns + c] = x[r * columns + c] * scale * gamma[c];
#ifdef INSTRUMENTED
    if (r == 0)
      NUMDIFF_SCALAR(op, "sum", sum);
    else
      NUMDIFF_SKIP_STEP();
#endif
  }
#ifdef INSTRUMENTED
  NUMDIFF_COLLECTIVE(op, numdiff::collective(numdiff::collective_operation::all_reduce).communicator("tp"));
  NUMDIFF_ACCUMULATE(op, "y", numdiff::view(y, {rows}));
  NUMDIFF_OUTPUT(op, "y", numdiff::view(y, {rows, columns}));
  NUMDIFF_CAST(op, "y", numdiff::view(x, {rows}), numdiff::view(y, {rows}));
  NUMDIFF_TENSOR("y again", numdiff::view(y, {rows, columns}));
#endif
}

std::vector<double> caller(std::size_t n) {
  std::vector<float> x(n * 8, 1.0F), gamma(8, 0.5F), y(n * 8);
  rms_norm(x.data(), gamma.data(), 1e-5F, y.data(), n, 8);
  return {y.begin(), y.end()};
}
