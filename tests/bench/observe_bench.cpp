// Speed of the pass over a tensor. "of_memcpy" is the time of a memcpy of the same bytes, measured between
// the passes, over the time of a pass: 0.5 is half of memcpy's speed.
#include "numdiff/detail/runtime/observe.hpp"

#include <benchmark/benchmark.h>

#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "numdiff/encode.hpp"

namespace {

using numdiff::dtype;
namespace detail = numdiff::detail;
// Seconds this thread has run: other programs on the machine do not count.
double thread_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

// Codes of normally distributed values, as activations have them.
std::vector<unsigned char> normal_codes(dtype t, std::size_t count) {
  const std::size_t size = numdiff::bytes_of(t);
  std::vector<unsigned char> bytes(count * size);
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  constexpr std::size_t period = 1 << 16;
  for (std::size_t i = 0; i < count; ++i) {
    if (i >= period) {
      std::memcpy(bytes.data() + i * size, bytes.data() + (i - period) * size, size);
      continue;
    }
    const double spread = numdiff::is_integer(t) ? 20 : 1;
    const std::uint64_t code = numdiff::encode(t, spread * normal(random));
    std::memcpy(bytes.data() + i * size, &code, size);
  }
  return bytes;
}

detail::observe_input rows_of(const std::vector<unsigned char>& codes, dtype t, std::int64_t rows,
                              std::int64_t columns) {
  detail::observe_input in;
  in.tensor.data = codes.data();
  in.tensor.type = t;
  in.tensor.rank = 2;
  in.tensor.extent[0] = rows;
  in.tensor.extent[1] = columns;
  in.tensor.stride[0] = columns;
  in.tensor.stride[1] = 1;
  return in;
}

void measure(benchmark::State& state, const detail::observe_input& in, std::size_t bytes) {
  detail::observation out;
  std::vector<unsigned char> copy(bytes);
  const std::int64_t count = in.tensor.extent[0] * in.tensor.extent[1];
  double copying = 0;
  double observing = 0;
  detail::observe(in, out);
  std::memcpy(copy.data(), in.tensor.data, bytes);
  for (auto _ : state) {
    double start = thread_seconds();
    std::memcpy(copy.data(), in.tensor.data, bytes);
    benchmark::DoNotOptimize(copy.data());
    benchmark::ClobberMemory();
    copying += thread_seconds() - start;
    start = thread_seconds();
    detail::observe(in, out);
    benchmark::DoNotOptimize(out.row);
    const double elapsed = thread_seconds() - start;
    observing += elapsed;
    state.SetIterationTime(elapsed);
  }
  const double passes = static_cast<double>(state.iterations());
  state.counters["of_memcpy"] = copying / observing;
  state.counters["Gelem/s"] = passes * static_cast<double>(count) / observing / 1e9;
  state.counters["GB/s"] = passes * static_cast<double>(bytes) / observing / 1e9;
}

void observe_dense(benchmark::State& state, dtype t, numdiff::level level) {
  const std::int64_t rows = state.range(0) / static_cast<std::int64_t>(numdiff::bytes_of(t)) / 4096;
  const auto codes = normal_codes(t, static_cast<std::size_t>(rows) * 4096);
  detail::observe_input in = rows_of(codes, t, rows, 4096);
  in.level = level;
  measure(state, in, codes.size());
}

void observe_transposed(benchmark::State& state) {
  const auto codes = normal_codes(dtype::f32, 2048 * 2048);
  detail::observe_input in = rows_of(codes, dtype::f32, 2048, 2048);
  std::swap(in.tensor.stride[0], in.tensor.stride[1]);
  measure(state, in, codes.size());
}

void observe_block_scaled(benchmark::State& state) {
  const auto codes = normal_codes(dtype::f8e4m3fn, 4096 * 4096);
  const std::vector<float> scales(4096 * 32, 0.5F);
  detail::observe_input in = rows_of(codes, dtype::f8e4m3fn, 4096, 4096);
  in.scaling.granularity = numdiff::granularity::block;
  in.scaling.block[0] = 1;
  in.scaling.block[1] = 128;
  in.scaling.scales = scales.data();
  measure(state, in, codes.size());
}

void observe_tiny(benchmark::State& state) {
  const auto codes = normal_codes(dtype::f32, 16);
  const detail::observe_input in = rows_of(codes, dtype::f32, 4, 4);
  detail::observation out;
  for (auto _ : state) {
    detail::observe(in, out);
    benchmark::DoNotOptimize(out.row);
  }
}

BENCHMARK(observe_tiny)->Name("16 f32 elements");
BENCHMARK(observe_transposed)->Name("f32 transposed, 16 MiB")->UseManualTime();
BENCHMARK(observe_block_scaled)->Name("f8e4m3fn scaled 1x128, 16 MiB")->UseManualTime();

[[maybe_unused]] const bool registered = [] {
  for (dtype t : {dtype::f64, dtype::f32, dtype::tf32, dtype::bf16, dtype::f16, dtype::f8e4m3fn,
                  dtype::f8e5m2, dtype::i64, dtype::i32, dtype::i16, dtype::i8, dtype::boolean}) {
    for (auto [level, name] :
         {std::pair(numdiff::level::stats, " stats"), std::pair(numdiff::level::sketch, " sketch")}) {
      benchmark::RegisterBenchmark(
          (std::string(numdiff::name_of(t)) + name).c_str(),
          [t = t, level = level](benchmark::State& s) { observe_dense(s, t, level); })
          ->Arg(64 << 20)
          ->UseManualTime();
    }
  }
  return true;
}();

}  // namespace
