// Probes compiled out: their arguments are never evaluated, session or not. What is inline in
// statements.hpp is not used here, since it has another body where probes are on.
#define NUMDIFF_ENABLE 0
#include "numdiff/numdiff.hpp"

int evaluated_when_off() {
  int evaluated = 0;
  const float x[4] = {};
  const auto view = [&] {
    ++evaluated;
    return numdiff::view(x, {4});
  };
  const auto types = [&] {
    ++evaluated;
    return numdiff::dtypes(numdiff::dtype::f32, numdiff::dtype::f32, numdiff::dtype::f32);
  };
  NUMDIFF_STEP(++evaluated);
  NUMDIFF_FACTOR("f", ++evaluated);
  NUMDIFF_OP(op, "y", matmul, types());
  NUMDIFF_INPUT(op, "a", view());
  NUMDIFF_SCALAR(op, "i", ++evaluated);
  NUMDIFF_TENSOR("t", view());
  NUMDIFF_CAST(op, "cast", view(), view());
  return evaluated;
}
