// The values layer on the device against the same functions on the host: all codes of the formats of up to
// 16 bits, 65536 codes of each of the others, and as many doubles and floats into each format. Exits 77
// without a device.
#include <cstdint>
#include <cstdio>
#include <vector>

#include "numdiff/classify.hpp"
#include "numdiff/scale_rules.hpp"
#include "numdiff/storage.hpp"
#include "numdiff/truncating.hpp"
#include "numdiff/ulp.hpp"

namespace {

using namespace numdiff;

constexpr int groups = 5;
const char* const group_names[groups] = {"decode", "encode", "order", "scale", "sum"};
constexpr std::uint32_t samples = 65536;

struct result {
  std::uint64_t hash[groups];
};

__host__ __device__ void add(std::uint64_t& hash, std::uint64_t x) {
  hash = (hash ^ x) * 1099511628211u;
}
__host__ __device__ void add(std::uint64_t& hash, double x) {
  const std::uint64_t bits = detail::bits_of(x);
  add(hash, x != x ? std::uint64_t{1} : bits);
}
__host__ __device__ std::uint64_t mix(std::uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

__host__ __device__ result result_at(dtype t, std::uint32_t i) {
  constexpr fused_dot_model models[] = {fused_dot_models::hopper_fp8, fused_dot_models::hopper_bf16};
  const std::uint64_t random = mix(0x9e3779b97f4a7c15u * (i + 1) + static_cast<std::uint64_t>(t));
  const std::uint64_t code = format_of(t).bits <= 16 ? i : random;
  result r{};
  add(r.hash[0], decode(t, code));
  add(r.hash[0], static_cast<std::uint64_t>(classify(t, code)));
  add(r.hash[0], static_cast<std::uint64_t>(octave(t, code)));

  // doubles over the format's range and beyond, and exact midpoints
  const double neighbour = decode(t, next_up(t, code));
  const double values[] = {detail::double_of(random), (decode(t, code) + neighbour) * 0.5,
                           decode(t, code) * (1 + (random % 64) * 0x1p-50)};
  for (const double x : values) {
    const float narrow = detail::to_f32(detail::bits_of(x));
    for (const rounding mode :
         {rounding::nearest_even, rounding::toward_zero, rounding::up, rounding::stochastic}) {
      for (const overflow past : {overflow::usual, overflow::to_maximum, overflow::to_infinity}) {
        add(r.hash[1], encode(t, x, {mode, past}, mix(random)));
        add(r.hash[1], encode(t, narrow, {mode, past}, mix(random)));
      }
    }
  }

  add(r.hash[2], next_up(t, code));
  add(r.hash[2], next_down(t, code));
  add(r.hash[2], ulp_distance(t, code, random));
  add(r.hash[2], ulp(t, values[2]));

  const float a = detail::float_of(static_cast<std::uint32_t>(random));
  const float b = detail::float_of(static_cast<std::uint32_t>(random >> 32));
  add(r.hash[3], std::uint64_t{detail::bits_of(detail::f32_quotient(a, b))});
  add(r.hash[3], std::uint64_t{detail::bits_of(detail::f32_product(a, b))});
  add(r.hash[3], std::uint64_t{detail::bits_of(encode_scale(a, 448, i & 1))});
  for (const mx_rule rule : {mx_rule::floor, mx_rule::rceil, mx_rule::ceiling, mx_rule::even}) {
    add(r.hash[3], std::uint64_t{mx_scale(a, dtype::f4e2m1fn, rule)});
  }

  add(r.hash[4], add_rounded(dtype::f32, detail::double_of(detail::widen(detail::bits_of(a))),
                             detail::double_of(detail::widen(detail::bits_of(b)))));
  double x[64], y[64];
  for (int k = 0; k < 64; ++k) {
    const std::uint64_t bits = mix(random + static_cast<std::uint64_t>(k));
    x[k] = decode_as<dtype::f8e5m2>(bits & 0x7b);
    y[k] = decode_as<dtype::f8e4m3fn>(bits >> 8);
  }
  for (const fused_dot_model& model : models) {
    add(r.hash[4], fused_dot(model, {dtype::f8e5m2, x}, {dtype::f8e4m3fn, y}, 64, i % 3 * 16));
  }
  return r;
}

__global__ void fill(dtype t, result* out) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < samples) out[i] = result_at(t, i);
}

// Mismatches between device and host, or -1 when the device failed.
long compare(dtype t, result* device) {
  std::vector<result> theirs(samples);
  fill<<<samples / 128, 128>>>(t, device);
  const cudaError_t error =
      cudaMemcpy(theirs.data(), device, samples * sizeof(result), cudaMemcpyDeviceToHost);
  if (error != cudaSuccess) {
    std::printf("%s: %s\n", name_of(t), cudaGetErrorString(error));
    return -1;
  }
  long wrong = 0;
  for (std::uint32_t i = 0; i < samples; ++i) {
    const result ours = result_at(t, i);
    for (int g = 0; g < groups; ++g) {
      if (ours.hash[g] == theirs[i].hash[g]) continue;
      if (wrong++ == 0) std::printf("%s: %s differs first at sample %u\n", name_of(t), group_names[g], i);
    }
  }
  return wrong;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("skipped: no CUDA device\n");
    return 77;
  }
  result* device = nullptr;
  if (cudaMalloc(&device, samples * sizeof(result)) != cudaSuccess) {
    std::printf("no device memory\n");
    return 1;
  }
  long wrong = 0;
  for (std::uint16_t id = 1; id < dtype_count; ++id) {
    const long found = compare(static_cast<dtype>(id), device);
    if (found < 0) return 1;
    wrong += found;
  }
  cudaFree(device);
  std::printf("%d formats, %u samples each: %ld differences between device and host\n", dtype_count - 1,
              samples, wrong);
  return wrong == 0 ? 0 : 1;
}
