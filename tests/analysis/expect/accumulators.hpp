#pragma once
// Products added up in known ways, and what the judge says of them.
#include <string>

#include "analysis/expect/emulate.hpp"
#include "analysis/expect/kinds.hpp"
#include "numdiff/truncating.hpp"

namespace numdiff::test {

// A way to add up products of f32 factors.
struct way {
  const char* what;         // for people
  const char* accumulator;  // what the judge calls it
  std::function<double(const double* a, const double* b, std::size_t stride, std::size_t k)> dot;
};

namespace ways {

inline double through(dtype t, double x) {
  return decode(t, encode(t, x));
}

// FP32 in `lanes` sums, from the end of the contraction or from its start.
inline auto f32(std::size_t lanes, bool reversed) {
  return [=](const double* a, const double* b, std::size_t stride, std::size_t k) {
    std::vector<float> sums(lanes, 0.0F);
    for (std::size_t q = 0; q < k; ++q) {
      const std::size_t i = reversed ? k - 1 - q : q;
      sums[q % lanes] += static_cast<float>(a[i]) * static_cast<float>(b[i * stride]);
    }
    for (std::size_t l = 1; l < lanes; ++l) sums[0] += sums[l];
    return static_cast<double>(sums[0]);
  };
}

template <dtype T>
auto narrow(std::size_t lanes) {
  return [=](const double* a, const double* b, std::size_t stride, std::size_t k) {
    std::vector<double> sums(lanes, 0.0);
    for (std::size_t i = 0; i < k; ++i)
      sums[i % lanes] = multiply_add_rounded<T>(sums[i % lanes], a[i], b[i * stride]);
    for (std::size_t l = 1; l < lanes; ++l) sums[0] = add_rounded<T>(sums[0], sums[l]);
    return sums[0];
  };
}

template <dtype T>
auto inputs() {
  return [](const double* a, const double* b, std::size_t stride, std::size_t k) {
    float sum = 0;
    for (std::size_t i = 0; i < k; ++i)
      sum += static_cast<float>(through(T, a[i])) * static_cast<float>(through(T, b[i * stride]));
    return static_cast<double>(sum);
  };
}

inline auto aligned(fused_dot_model model, std::size_t promotion) {
  return [=](const double* a, const double* b, std::size_t stride, std::size_t k) {
    return fused_dot(model, {dtype::f32, a, 1}, {dtype::f32, b, static_cast<std::ptrdiff_t>(stride)}, k,
                     promotion);
  };
}

// FP32 parts, each rounded to T; their sum in FP32 or in T.
template <dtype T>
auto split(std::size_t parts, bool narrow_sum) {
  return [=](const double* a, const double* b, std::size_t stride, std::size_t k) {
    double sum = 0;
    const std::size_t length = k / parts;
    for (std::size_t part = 0; part < parts; ++part) {
      const double inner = f32(1, false)(a + part * length, b + part * length * stride, stride, length);
      sum = add_rounded(narrow_sum ? T : dtype::f32, sum, through(T, inner));
    }
    return sum;
  };
}

}  // namespace ways

inline const std::vector<way>& all_ways() {
  constexpr const char *f32 = "an f32 accumulator", *bf16 = "a bf16 accumulator", *f16 = "an f16 accumulator";
  static const std::vector<way> all = {
      {"FP32, in order", f32, ways::f32(1, false)},
      {"FP32, 8 lanes", f32, ways::f32(8, false)},
      {"FP32, from the end", f32, ways::f32(1, true)},
      {"BF16, in order", bf16, ways::narrow<dtype::bf16>(1)},
      {"BF16, 8 lanes", bf16, ways::narrow<dtype::bf16>(8)},
      {"FP16, in order", f16, ways::narrow<dtype::f16>(1)},
      {"TF32 inputs", "inputs rounded to tf32", ways::inputs<dtype::tf32>()},
      {"BF16 inputs", "inputs rounded to bf16", ways::inputs<dtype::bf16>()},
      {"13 bits, 32 at a time", "products cut at 13 bits", ways::aligned(fused_dot_models::hopper_fp8, 0)},
      {"13 bits, promoted every 128", "products cut at 13 bits, promoted every 128",
       ways::aligned(fused_dot_models::hopper_fp8, 128)},
      {"25 bits, 16 at a time", "products cut at 23 to 25 bits",
       ways::aligned(fused_dot_models::hopper_bf16, 0)},
      {"4 parts in BF16", "partial sums rounded to bf16", ways::split<dtype::bf16>(4, false)},
      {"8 parts in BF16, added in BF16", "partial sums rounded to bf16", ways::split<dtype::bf16>(8, true)},
      {"4 parts in FP16", "partial sums rounded to f16", ways::split<dtype::f16>(4, false)},
  };
  return all;
}

// Declares in an op record what the judge calls `accumulator`, one of all_ways().
inline void declare(execution& e, const std::string& accumulator) {
  const auto set = [&](dtype t) { e.row().accumulate_dtype = static_cast<std::uint16_t>(t); };
  set(dtype::f32);
  if (accumulator == "a bf16 accumulator") set(dtype::bf16);
  if (accumulator == "an f16 accumulator") set(dtype::f16);
  if (accumulator == "inputs rounded to tf32")
    e.row().input_dtype = e.row().input2_dtype = static_cast<std::uint16_t>(dtype::tf32);
  if (accumulator.starts_with("products cut at 13 bits")) {
    e.row().accumulate_bits = 13;
    e.row().accumulate_rounding = static_cast<std::uint16_t>(rounding::toward_zero);
    if (accumulator.ends_with("128")) e.row().promotion = 128;
  }
  if (accumulator == "partial sums rounded to bf16") {
    e.row().split = 4;
    e.row().partial_dtype = static_cast<std::uint16_t>(dtype::bf16);
  }
}

struct factors_of_product {
  tensor a, b;
  std::size_t m, n, k;

  factors_of_product(sampler& random, spread_of s, std::size_t rows, std::size_t columns, std::size_t length)
      : a(stored(dtype::f32, {static_cast<std::int64_t>(rows), static_cast<std::int64_t>(length)},
                 random.draw(rows * length, s, length))),
        b(stored(dtype::f32, {static_cast<std::int64_t>(length), static_cast<std::int64_t>(columns)},
                 random.draw(length * columns, s, columns))),
        m(rows),
        n(columns),
        k(length) {}

  [[nodiscard]] values by(const way& w) const {
    values c(m * n);
    for (std::size_t i = 0; i < m * n; ++i)
      c[i] = w.dot(a.values.data() + i / n * k, b.values.data() + i % n, n, k);
    return c;
  }
};

// What the judge says of sums made one way and declared another.
inline judgement told(const factors_of_product& f, const values& sums, dtype out,
                      const std::string& declared) {
  execution e("matmul", dtype::f32, dtype::f32, out);
  declare(e, declared);
  e.read(f.a).read(f.b, role::weight);
  e.write(stored(out, {static_cast<std::int64_t>(f.m), static_cast<std::int64_t>(f.n)}, sums));
  const replayed r = e.replay();
  return r.outputs.at(0);
}

}  // namespace numdiff::test
