// Device tensors and counters compile, and link with the runtime; the host part runs without a device.
#include "numdiff/cuda.hpp"
#include "numdiff/numdiff.hpp"

#include <cstdio>

__global__ void scale(const float* x, unsigned char* y, float factor, int n NUMDIFF_KERNEL_PARAM(op)) {
  NUMDIFF_DEVICE_COUNTER(c, op, "y8");
  for (int i = static_cast<int>(threadIdx.x); i < n; i += static_cast<int>(blockDim.x)) {
    c.before_cast(x[i] * factor, i);
    y[i] = static_cast<unsigned char>(x[i] * factor);
  }
  c.commit();
}

void launch(const float* x, unsigned char* y, int n, cudaStream_t s) {
  using namespace numdiff::dtypes_short;
  NUMDIFF_OP(op, "y8", cast, numdiff::dtypes(f32, f32, e4m3).stream(s));
  NUMDIFF_INPUT(op, "x", numdiff::view(x, {n}).on(s));
  scale<<<1, 32, 0, s>>>(x, y, 2.0F, n NUMDIFF_KERNEL_ARG(op));
  NUMDIFF_OUTPUT(op, "y", numdiff::view(y, e4m3, {n}).on(s).scaled(numdiff::scale_per_tensor(x).on_device()));
}

int main(int argc, char**) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess) devices = 0;
  if (devices > 0 && argc > 0) {
    float* x = nullptr;
    unsigned char* y = nullptr;
    cudaMalloc(&x, 64 * sizeof *x);
    cudaMalloc(&y, 64);
    launch(x, y, 64, nullptr);
    cudaDeviceSynchronize();
  }
  std::printf("devices: %d\n", devices);
  return 0;
}
