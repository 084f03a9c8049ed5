// Device tensors and device counters against the same values on the host: equal digests, sums and counts, and
// the kernel's output is the same with and without a session. Exits 77 without a device. The implementation
// is compiled in, so that only nvcc and a sink are needed.
#define NUMDIFF_IMPLEMENTATION
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <vector>

#include "capture/support/recording.hpp"
#include "numdiff/cuda.hpp"

namespace {

using numdiff::dtype;
using numdiff::detail::capture_row;
using numdiff::detail::cast_row;
using numdiff::detail::field;

constexpr int count = 100003;
constexpr float encode_scale = 64;

__global__ void cast_to_fp8(const float* x, unsigned char* y, int n NUMDIFF_KERNEL_PARAM(op)) {
  NUMDIFF_DEVICE_COUNTER(counter, op, "y8", dtype::f8e4m3fn);
  const int stride = static_cast<int>(gridDim.x * blockDim.x);
  for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < n; i += stride) {
    const float v = x[i] * encode_scale;
    counter.before_cast(v);
    y[i] = static_cast<unsigned char>(numdiff::encode_as<dtype::f8e4m3fn>(v));
  }
  counter.commit();
}

bool good(cudaError_t status, const char* what) {
  if (status != cudaSuccess) std::printf("%s: %s\n", what, cudaGetErrorString(status));
  return status == cudaSuccess;
}
#define GOOD(call) good(call, #call)

std::vector<unsigned char> run(const float* x, unsigned char* y, cudaStream_t stream) {
  std::vector<unsigned char> out(count);
  NUMDIFF_STEP(0);
  {
    NUMDIFF_OP(op, "quantise", cast, numdiff::dtypes(dtype::f32, dtype::f32, dtype::f8e4m3fn).stream(stream));
    NUMDIFF_INPUT(op, "x", numdiff::view(x, {count}).on(stream));
    cast_to_fp8<<<64, 128, 0, stream>>>(x, y, count NUMDIFF_KERNEL_ARG(op));
    NUMDIFF_OUTPUT(op, "y", numdiff::view(y, dtype::f8e4m3fn, {count}).on(stream));
  }
  GOOD(cudaMemcpyAsync(out.data(), y, count, cudaMemcpyDeviceToHost, stream));
  GOOD(cudaStreamSynchronize(stream));
  return out;
}

int failures = 0;
void expect(bool condition, const char* what) {
  std::printf("%s: %s\n", condition ? "ok" : "WRONG", what);
  failures += condition ? 0 : 1;
}

const capture_row* find(const std::vector<test::message>& all, const char* name, capture_row& row) {
  for (const test::message& m : test::captures(all)) {
    if (m.text(field::name) != name) continue;
    row = m.as<capture_row>();
    return &row;
  }
  return nullptr;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: nothing tested\n");
    return 77;
  }
  std::vector<float> host(count);
  numdiff::cast_counter expected(dtype::f8e4m3fn);
  std::vector<unsigned char> codes(count);
  for (int i = 0; i < count; ++i) {
    host[i] = static_cast<float>((i * 7919) % 10007 - 5003) * (i % 13 == 0 ? 1e-6F : 1.9e-3F);
    const float v = host[i] * encode_scale;
    expected.before_cast(static_cast<double>(v));
    codes[i] = static_cast<unsigned char>(numdiff::encode_as<dtype::f8e4m3fn>(v));
  }
  float* x = nullptr;
  unsigned char* y = nullptr;
  cudaStream_t stream = nullptr;
  if (!GOOD(cudaMalloc(&x, count * sizeof(float))) || !GOOD(cudaMalloc(&y, count)) ||
      !GOOD(cudaStreamCreate(&stream)) ||
      !GOOD(cudaMemcpy(x, host.data(), count * sizeof(float), cudaMemcpyHostToDevice)))
    return 1;

  const std::vector<unsigned char> plain = run(x, y, stream);
  test::recording recording(numdiff::level::tensors,
                            [](numdiff::session_options& o) { o.queue_bytes = 16 << 20; });
  expect(recording.session().active(), "a session opens");
  const std::vector<unsigned char> traced = run(x, y, stream);
  NUMDIFF_TENSOR("x.host", numdiff::view(host.data(), {count}));
  NUMDIFF_TENSOR("y.host", numdiff::view(codes.data(), dtype::f8e4m3fn, {count}));

  // A stream that is being captured into a graph is not touched.
  cudaGraph_t graph = nullptr;
  GOOD(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
  NUMDIFF_TENSOR("x.captured", numdiff::view(static_cast<const float*>(x), {count}).on(stream));
  expect(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "a probe leaves a graph capture whole");

  const std::vector<test::message> all = recording.finish();
  expect(plain == traced, "the kernel's output is the same with a session");
  expect(plain == codes, "device casts equal host casts");
  capture_row a, b;
  const bool have_x = find(all, "x", a) != nullptr && find(all, "x.host", b) != nullptr;
  expect(have_x && a.digest0 == b.digest0 && a.digest1 == b.digest1 && a.sum == b.sum &&
             a.sum_sq == b.sum_sq && a.amax == b.amax && a.subnormal == b.subnormal && a.zero == b.zero,
         "the device input is recorded as the host's");
  const bool have_y = find(all, "y", a) != nullptr && find(all, "y.host", b) != nullptr;
  expect(
      have_y && a.digest0 == b.digest0 && a.digest1 == b.digest1 && a.maximum_positive == b.maximum_positive,
      "the device output is recorded as the host's");
  expect(find(all, "x.captured", a) == nullptr, "a refused probe records nothing");

  bool counted = false;
  for (const test::message& m : test::captures(all)) {
    if (m.text(field::name) != "y8") continue;
    cast_row row = {};
    const test::bytes& raw = m.fields.at(field::cast);
    std::memcpy(&row, raw.data(), raw.size() < sizeof row ? raw.size() : sizeof row);
    const numdiff_counts_v1& c = expected.raw();
    counted = row.count == c.count && row.beyond_maximum == c.beyond_maximum &&
              row.overflowing == c.overflowing && row.flushed == c.flushed && row.subnormal == c.subnormal &&
              row.amax == c.amax;
    std::printf("device counter: %ld casts, %ld beyond the maximum, %ld flushed, amax %.9g\n",
                static_cast<long>(row.count), static_cast<long>(row.beyond_maximum),
                static_cast<long>(row.flushed), row.amax);
  }
  expect(counted, "the device counter counts what the host counter counts");
  std::printf("%d wrong\n", failures);
  return failures == 0 ? 0 : 1;
}
