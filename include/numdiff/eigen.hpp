#pragma once
// Opt-in: probes take Eigen's dense objects with direct access (Matrix, Array, Map, Ref, Block).
//
//   Eigen::MatrixXf w; NUMDIFF_WEIGHT(op, "w", w);
//
// A vector (at compile time) has one dimension, everything else two: rows, columns. Expressions have
// no memory; evaluate them first.
#include <type_traits>

#include "numdiff/view_traits.hpp"

#include <Eigen/Core>

namespace numdiff {
inline namespace v1 {
namespace detail {

template <class T>
using direct_dense = std::enable_if_t<std::is_base_of_v<Eigen::DenseBase<T>, T> &&
                                      (Eigen::internal::traits<T>::Flags & Eigen::DirectAccessBit) != 0>;

}  // namespace detail

template <class T>
struct view_traits<T, detail::direct_dense<T>> {
  static view view_of(const T& t) noexcept {
    if constexpr (T::IsVectorAtCompileTime) {
      return view(t.data(), {t.size()}).strides({t.innerStride()});
    } else {
      return view(t.data(), {t.rows(), t.cols()}).strides({t.rowStride(), t.colStride()});
    }
  }
};

}  // namespace v1
}  // namespace numdiff
