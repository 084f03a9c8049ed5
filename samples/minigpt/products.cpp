#include "products.hpp"

#include <Eigen/Core>
#include <vector>

#include "numdiff/accumulate.hpp"
#include "numdiff/truncating.hpp"

namespace minigpt {
namespace {

using numdiff::dtype;

template <class T>
using dense = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// Eigen wants one unit stride to be known: rows or columns are contiguous in every product here.
template <class T>
dense<T> load(const T* p, const matrices& m) {
  if (m.column_stride == 1)
    return Eigen::Map<const dense<T>, 0, Eigen::OuterStride<>>(p, m.rows, m.columns,
                                                               Eigen::OuterStride<>(m.row_stride));
  return Eigen::Map<const dense<T>, 0, Eigen::OuterStride<>>(p, m.columns, m.rows,
                                                             Eigen::OuterStride<>(m.column_stride))
      .transpose();
}

template <class T>
void blocked(const T* a, const matrices& ma, const T* b, const matrices& mb, T alpha, T* c,
             const matrices& mc) {
  Eigen::Map<dense<T>, 0, Eigen::OuterStride<>> result(c, mc.rows, mc.columns,
                                                       Eigen::OuterStride<>(mc.row_stride));
  result.noalias() = load(a, ma) * load(b, mb);
  if (alpha != T(1)) result *= alpha;
}

template <dtype Format>
double rounded_dot(const double* a, const double* b, std::size_t n) {
  double sum = 0;
  for (std::size_t i = 0; i < n; ++i) sum = numdiff::multiply_add_rounded<Format>(sum, a[i], b[i]);
  return sum;
}

double dot(accumulator how, dtype type_a, const double* a, dtype type_b, const double* b, std::size_t n) {
  switch (how) {
    case accumulator::bf16: return rounded_dot<dtype::bf16>(a, b, n);
    case accumulator::fp16: return rounded_dot<dtype::f16>(a, b, n);
    default: return numdiff::fused_dot(numdiff::fused_dot_models::hopper_fp8, {type_a, a}, {type_b, b}, n);
  }
}

// One matrix as rows of doubles.
template <class T>
std::vector<double> rows_of(const T* p, const matrices& m) {
  std::vector<double> rows;
  rows.reserve(static_cast<std::size_t>(m.rows * m.columns));
  for (std::int64_t r = 0; r < m.rows; ++r)
    for (std::int64_t c = 0; c < m.columns; ++c)
      rows.push_back(double(p[r * m.row_stride + c * m.column_stride]));
  return rows;
}

template <class T>
void sequential(accumulator how, const T* a, const factor<T>& fa, const T* b, const factor<T>& fb, T alpha,
                T* c, const matrices& mc) {
  const std::int64_t k = fa.shape.columns;
  const std::vector<double> rows = rows_of(a, fa.shape), columns = rows_of(b, fb.shape.transposed());
  for (std::int64_t i = 0; i < mc.rows; ++i)
    for (std::int64_t j = 0; j < mc.columns; ++j)
      c[i * mc.row_stride + j] = alpha * T(dot(how, fa.type, rows.data() + i * k, fb.type,
                                               columns.data() + j * k, static_cast<std::size_t>(k)));
}

}  // namespace

template <class T>
void multiply(accumulator how, const factor<T>& a, const factor<T>& b, T alpha, T* c, const matrices& mc) {
  const bool native = how == accumulator::fp32 || how == accumulator::fp64;
  for (std::int64_t o = 0; o < mc.outer; ++o)
    for (std::int64_t i = 0; i < mc.inner; ++i) {
      const T* pa = a.values + o * a.shape.outer_stride + i * a.shape.inner_stride;
      const T* pb = b.values + o * b.shape.outer_stride + i * b.shape.inner_stride;
      T* pc = c + o * mc.outer_stride + i * mc.inner_stride;
      if (native)
        blocked(pa, a.shape, pb, b.shape, alpha, pc, mc);
      else
        sequential(how, pa, a, pb, b, alpha, pc, mc);
    }
}

template void multiply(accumulator, const factor<float>&, const factor<float>&, float, float*,
                       const matrices&);
template void multiply(accumulator, const factor<double>&, const factor<double>&, double, double*,
                       const matrices&);

}  // namespace minigpt
