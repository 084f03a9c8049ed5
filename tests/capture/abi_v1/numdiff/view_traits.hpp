#pragma once
// How probes see tensors of other libraries.
//
// Specialise for a tensor type and pass its objects to probes and to numdiff::dtypes():
//
//   template <>
//   struct numdiff::view_traits<at::Tensor> {
//     static numdiff::view view_of(const at::Tensor& t) noexcept {
//       return numdiff::view(t.data_ptr(), dtype_from(t.scalar_type()), numdiff::extents(t.sizes().data(),
//       int(t.dim())))
//           .strides(numdiff::extents(t.strides().data(), int(t.dim())));
//     }
//   };
//
// A partial specialisation may use the second parameter for std::enable_if.
#include <type_traits>
#include <utility>

#include "numdiff/view.hpp"

namespace numdiff {
inline namespace v1 {

template <class Tensor, class = void>
struct view_traits;

template <>
struct view_traits<view, void> {
  static const view& view_of(const view& v) noexcept { return v; }
};

namespace detail {

template <class T, class = void>
inline constexpr bool has_view = false;
template <class T>
inline constexpr bool has_view<T, std::void_t<decltype(view_traits<T>::view_of(std::declval<const T&>()))>> =
    true;

template <class T>
decltype(auto) view_of(const T& tensor) noexcept {
  static_assert(has_view<T>, "pass a numdiff::view, or specialise numdiff::view_traits for this tensor type");
  return view_traits<T>::view_of(tensor);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
