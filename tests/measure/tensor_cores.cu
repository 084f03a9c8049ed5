// Which dot-product model do this device's tensor cores follow? Runs random products through mma instructions
// and through cuBLASLt's FP8 matmul and counts the elements that numdiff/truncating.hpp reproduces bit for
// bit. Build: nvcc -std=c++17 -arch=sm_90 -I include tests/measure/tensor_cores.cu -lcublasLt -o tensor_cores
#include <cublasLt.h>
#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/truncating.hpp"

namespace {

using numdiff::dtype;
using numdiff::fused_dot_model;

#define CHECK(call)                                                                         \
  do {                                                                                      \
    const auto status_ = (call);                                                            \
    if (static_cast<int>(status_) != 0) {                                                   \
      std::printf("%s:%d: %s: %d\n", __FILE__, __LINE__, #call, static_cast<int>(status_)); \
      return false;                                                                         \
    }                                                                                       \
  } while (false)

// One warp, 16 x 8 outputs, `steps` instructions along K. a: [16, K] and b: [8, K], row-major raw codes.
template <dtype T>
__global__ void products(const unsigned char* a, const unsigned char* b, float* c, int steps) {
  constexpr int size = T == dtype::f8e4m3fn || T == dtype::f8e5m2 ? 1 : T == dtype::tf32 ? 4 : 2;
  constexpr int depth = 32 / size;
  const int lane = static_cast<int>(threadIdx.x);
  const int group = lane / 4;
  const int member = lane % 4;
  const int length = depth * steps;
  float d[4] = {0, 0, 0, 0};
  for (int step = 0; step < steps; ++step) {
    std::uint32_t ra[4];
    std::uint32_t rb[2];
    for (int r = 0; r < 4; ++r) {
      const int row = group + (r & 1) * 8;
      const int column = step * depth + member * (4 / size) + (r >= 2 ? depth / 2 : 0);
      std::memcpy(&ra[r], a + (row * length + column) * size, 4);
    }
    for (int r = 0; r < 2; ++r) {
      const int column = step * depth + member * (4 / size) + (r == 1 ? depth / 2 : 0);
      std::memcpy(&rb[r], b + (group * length + column) * size, 4);
    }
#define NUMDIFF_MMA(shape_and_types)                                                                        \
  asm volatile("mma.sync.aligned." shape_and_types " {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};" \
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])                                             \
               : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]))
    if constexpr (T == dtype::bf16) NUMDIFF_MMA("m16n8k16.row.col.f32.bf16.bf16.f32");
    if constexpr (T == dtype::f16) NUMDIFF_MMA("m16n8k16.row.col.f32.f16.f16.f32");
    if constexpr (T == dtype::tf32) NUMDIFF_MMA("m16n8k8.row.col.f32.tf32.tf32.f32");
    if constexpr (T == dtype::f8e4m3fn) NUMDIFF_MMA("m16n8k32.row.col.f32.e4m3.e4m3.f32");
    if constexpr (T == dtype::f8e5m2) NUMDIFF_MMA("m16n8k32.row.col.f32.e5m2.e5m2.f32");
#undef NUMDIFF_MMA
  }
  c[group * 8 + member * 2] = d[0];
  c[group * 8 + member * 2 + 1] = d[1];
  c[(group + 8) * 8 + member * 2] = d[2];
  c[(group + 8) * 8 + member * 2 + 1] = d[3];
}

struct matrix {
  std::vector<unsigned char> codes;
  std::vector<double> values;
};

// Random codes of type t, kept at one byte, two or four an element. spread: octaves over which magnitudes
// vary.
matrix random_matrix(dtype t, std::size_t count, std::mt19937_64& random, bool positive, double spread) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> octave(-spread, spread);
  const std::size_t size = numdiff::bytes_of(t);
  matrix m;
  m.codes.resize(count * size);
  for (std::size_t i = 0; i < count; ++i) {
    double x = normal(random) * std::exp2(octave(random));
    if (positive && x < 0) x = -x;
    const std::uint64_t code =
        numdiff::encode(t, x, {numdiff::rounding::nearest_even, numdiff::overflow::to_maximum});
    std::memcpy(&m.codes[i * size], &code, size);
    m.values.push_back(numdiff::decode(t, code));
  }
  return m;
}

template <class Launch>
bool on_device(const matrix& a, const matrix& b, std::vector<float>& c, Launch launch) {
  unsigned char* device_a = nullptr;
  unsigned char* device_b = nullptr;
  float* device_c = nullptr;
  CHECK(cudaMalloc(&device_a, a.codes.size()));
  CHECK(cudaMalloc(&device_b, b.codes.size()));
  CHECK(cudaMalloc(&device_c, c.size() * sizeof(float)));
  CHECK(cudaMemcpy(device_a, a.codes.data(), a.codes.size(), cudaMemcpyHostToDevice));
  CHECK(cudaMemcpy(device_b, b.codes.data(), b.codes.size(), cudaMemcpyHostToDevice));
  if (!launch(device_a, device_b, device_c)) return false;
  CHECK(cudaDeviceSynchronize());
  CHECK(cudaMemcpy(c.data(), device_c, c.size() * sizeof(float), cudaMemcpyDeviceToHost));
  cudaFree(device_a);
  cudaFree(device_b);
  cudaFree(device_c);
  return true;
}

struct tally {
  long same = 0;
  long all = 0;
};

// Counts outputs that the model reproduces. c[i * columns + j] belongs to row i of a and row j of b.
tally count(const fused_dot_model& model, std::size_t promote, dtype t, const matrix& a, const matrix& b,
            std::size_t length, std::size_t rows, std::size_t columns, const std::vector<float>& c) {
  tally result;
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      const double expected =
          numdiff::fused_dot(model, {t, &a.values[i * length]}, {t, &b.values[j * length]}, length, promote);
      const float as_float = static_cast<float>(expected);
      result.same += std::memcmp(&as_float, &c[i * columns + j], sizeof(float)) == 0 ? 1 : 0;
      ++result.all;
    }
  }
  return result;
}

struct candidate {
  const char* name;
  fused_dot_model model;
};

template <dtype T>
bool probe_instruction(const char* name, const std::vector<candidate>& candidates) {
  std::mt19937_64 random(1);
  std::vector<tally> totals(candidates.size());
  for (const bool positive : {false, true}) {
    for (const int steps : {1, 2, 8, 64}) {
      for (int repeat = 0; repeat < 8; ++repeat) {
        const std::size_t length = static_cast<std::size_t>(steps) * 32 / numdiff::bytes_of(T);
        const double spread = T == dtype::f8e4m3fn ? 4 : 6;
        const matrix a = random_matrix(T, 16 * length, random, positive, spread);
        const matrix b = random_matrix(T, 8 * length, random, positive, spread);
        std::vector<float> c(16 * 8);
        const bool ran = on_device(a, b, c, [&](unsigned char* da, unsigned char* db, float* dc) {
          products<T><<<1, 32>>>(da, db, dc, steps);
          return cudaGetLastError() == cudaSuccess;
        });
        if (!ran) return false;
        for (std::size_t k = 0; k < candidates.size(); ++k) {
          const tally t = count(candidates[k].model, 0, T, a, b, length, 16, 8, c);
          totals[k].same += t.same;
          totals[k].all += t.all;
        }
      }
    }
  }
  for (std::size_t k = 0; k < candidates.size(); ++k)
    std::printf("| mma.sync %s | %s | %ld of %ld |\n", name, candidates[k].name, totals[k].same,
                totals[k].all);
  return true;
}

// d[n * rows + m] = sum_k a[m, k] b[n, k], FP8 in, FP32 out (column-major output, as cuBLASLt has it).
bool cublas_fp8(const matrix& a, const matrix& b, std::vector<float>& d, std::size_t rows,
                std::size_t columns, std::size_t length, std::int8_t fast) {
  return on_device(a, b, d, [&](unsigned char* da, unsigned char* db, float* dd) {
    cublasLtHandle_t handle;
    cublasLtMatmulDesc_t description;
    cublasLtMatrixLayout_t la, lb, ld;
    CHECK(cublasLtCreate(&handle));
    CHECK(cublasLtMatmulDescCreate(&description, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    const cublasOperation_t transposed = CUBLAS_OP_T;
    CHECK(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                         sizeof transposed));
    CHECK(cublasLtMatmulDescSetAttribute(description, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
    CHECK(cublasLtMatrixLayoutCreate(&la, CUDA_R_8F_E4M3, length, rows, static_cast<std::int64_t>(length)));
    CHECK(
        cublasLtMatrixLayoutCreate(&lb, CUDA_R_8F_E4M3, length, columns, static_cast<std::int64_t>(length)));
    CHECK(cublasLtMatrixLayoutCreate(&ld, CUDA_R_32F, rows, columns, static_cast<std::int64_t>(rows)));
    cublasLtMatmulPreference_t preference;
    CHECK(cublasLtMatmulPreferenceCreate(&preference));
    const std::size_t none = 0;
    CHECK(cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &none,
                                               sizeof none));
    cublasLtMatmulHeuristicResult_t algorithm;
    int found = 0;
    CHECK(cublasLtMatmulAlgoGetHeuristic(handle, description, la, lb, ld, ld, preference, 1, &algorithm,
                                         &found));
    if (found == 0) {
      std::printf("cuBLASLt has no FP8 algorithm for this shape\n");
      return false;
    }
    const float one = 1;
    const float zero = 0;
    CHECK(cublasLtMatmul(handle, description, &one, da, la, db, lb, &zero, dd, ld, dd, ld, &algorithm.algo,
                         nullptr, 0, nullptr));
    CHECK(cudaDeviceSynchronize());
    cublasLtMatrixLayoutDestroy(la);
    cublasLtMatrixLayoutDestroy(lb);
    cublasLtMatrixLayoutDestroy(ld);
    cublasLtMatmulPreferenceDestroy(preference);
    cublasLtMatmulDescDestroy(description);
    cublasLtDestroy(handle);
    return true;
  });
}

bool probe_cublas() {
  std::mt19937_64 random(2);
  constexpr std::size_t rows = 64;
  constexpr std::size_t columns = 64;
  for (const std::size_t length : {std::size_t{64}, std::size_t{512}, std::size_t{2048}}) {
    for (const bool positive : {false, true}) {
      const matrix a = random_matrix(dtype::f8e4m3fn, rows * length, random, positive, 4);
      const matrix b = random_matrix(dtype::f8e4m3fn, columns * length, random, positive, 4);
      for (const std::int8_t fast : {std::int8_t{1}, std::int8_t{0}}) {
        std::vector<float> d(rows * columns);
        if (!cublas_fp8(a, b, d, rows, columns, length, fast)) return false;
        std::vector<float> c(rows * columns);
        double squared = 0, norm = 0, signed_error = 0, magnitude = 0;
        for (std::size_t i = 0; i < rows; ++i) {
          for (std::size_t j = 0; j < columns; ++j) {
            c[i * columns + j] = d[j * rows + i];
            double exact = 0;
            for (std::size_t k = 0; k < length; ++k)
              exact += a.values[i * length + k] * b.values[j * length + k];
            const double error = static_cast<double>(d[j * rows + i]) - exact;
            squared += error * error;
            norm += exact * exact;
            signed_error += exact < 0 ? -error : error;
            magnitude += exact < 0 ? -exact : exact;
          }
        }
        std::string best = "none of the intervals";
        long most = 0;
        long all = 0;
        for (const std::size_t promote : {0UL, 32UL, 64UL, 128UL, 256UL, 512UL, 1024UL}) {
          if (promote >= length && promote != 0) continue;
          const tally t = count(numdiff::fused_dot_models::hopper_fp8, promote, dtype::f8e4m3fn, a, b, length,
                                rows, columns, c);
          all = t.all;
          if (t.same > most) {
            most = t.same;
            best = promote == 0 ? "never promoted" : "promoted every " + std::to_string(promote);
          }
        }
        std::printf(
            "| cuBLASLt E4M3 K=%zu %s fast_accum=%d | hopper_fp8, %s | %ld of %ld | error %.3g, toward zero "
            "%.3g |\n",
            length, positive ? "positive" : "zero-mean", fast, best.c_str(), most, all,
            std::sqrt(squared / norm), -signed_error / magnitude);
      }
    }
  }
  return true;
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::printf("no CUDA device: nothing measured\n");
    return 77;
  }
  cudaDeviceProp device;
  if (cudaGetDeviceProperties(&device, 0) != cudaSuccess) return 2;
  std::printf("device: %s, compute capability %d.%d\n\n", device.name, device.major, device.minor);
  std::printf("| products | model | outputs reproduced bit for bit |\n|---|---|---|\n");
  namespace models = numdiff::fused_dot_models;
  const std::vector<candidate> wide = {{"hopper_bf16 (16 products, 25 bits)", models::hopper_bf16},
                                       {"ampere_bf16 (8 products, 24 bits)", models::ampere_bf16}};
  bool good = probe_instruction<dtype::bf16>("bf16", wide);
  good = probe_instruction<dtype::f16>("f16", wide) && good;
  good =
      probe_instruction<dtype::tf32>("tf32", {{"hopper_tf32 (8 products, 25 bits)", models::hopper_tf32},
                                              {"ampere_tf32 (4 products, 24 bits)", models::ampere_tf32}}) &&
      good;
  const std::vector<candidate> narrow = {{"hopper_fp8 (32 products, 13 bits)", models::hopper_fp8},
                                         {"ada_fp8 (16 products, 13 bits)", models::ada_fp8},
                                         {"hopper_bf16 (16 products, 25 bits)", models::hopper_bf16},
                                         {"blackwell_fp8 (32 products, 25 bits)", models::blackwell_fp8}};
  good = probe_instruction<dtype::f8e4m3fn>("e4m3", narrow) && good;
  good = probe_instruction<dtype::f8e5m2>("e5m2", narrow) && good;
  good = probe_cublas() && good;
  return good ? 0 : 2;
}
