// A device kernel with its macros (INSTRUMENTED) or without.
#ifdef INSTRUMENTED
#include "numdiff/numdiff.hpp"
#define PARAMETER NUMDIFF_KERNEL_PARAM(op)
#define COUNTER NUMDIFF_DEVICE_COUNTER(counter, op, "y8")
#define COUNT(v) counter.before_cast(v)
#define COMMIT counter.commit()
#else
#define PARAMETER
#define COUNTER static_cast<void>(0)
#define COUNT(v) static_cast<void>(0)
#define COMMIT static_cast<void>(0)
#endif

__global__ void scale(const float* x, float* y, float factor, int n PARAMETER) {
  COUNTER;
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n;
       i += static_cast<int>(gridDim.x * blockDim.x)) {
    const float v = x[i] * factor;
    COUNT(v);
    y[i] = v;
  }
  COMMIT;
}
