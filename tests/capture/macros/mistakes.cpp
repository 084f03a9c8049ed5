// One mistake at a time (MISTAKE, 0 for none), each of which must not compile, with probes on or off.
#include "numdiff/numdiff.hpp"

void instrumented(const float* x, long n) {
  using namespace numdiff::dtypes_short;
  NUMDIFF_STEP(n);
  NUMDIFF_OP(op, "y", matmul, numdiff::dtypes(f32, f32, f32));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {n}));
#if MISTAKE == 1
  NUMDIFF_INPUT(op, "x", numdiff::view(z, {n}));
#endif
#if MISTAKE == 2
  NUMDIFF_INPUT(oq, "x", numdiff::view(x, {n}));
#endif
#if MISTAKE == 3
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {n}).sharded("tp", 0));
#endif
#if MISTAKE == 4
  NUMDIFF_PHASE(bakward);
#endif
#if MISTAKE == 5
  NUMDIFF_OP(other, "y", matmul, numdiff::dtypes(f32, f33, f32));
#endif
#if MISTAKE == 6
  NUMDIFF_STEP(m);
#endif
#if MISTAKE == 7
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {1.5}));
#endif
#if MISTAKE == 8
  NUMDIFF_TENSOR("x", numdiff::view(x, {n}, 3));
#endif
#if MISTAKE == 9
  NUMDIFF_SCALAR(op, "eps", eps);
#endif
#if MISTAKE == 10
  NUMDIFF_TAG("key");
#endif
}
