#pragma once
// The dtype of a C++ element type.
#include <cstdint>
#include <type_traits>

#include "numdiff/dtype.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Matches std::complex<float> and std::complex<double> without <complex>, which is not light.
template <class T, class Part>
using is_complex_of =
    std::bool_constant<std::is_same_v<decltype(T().real()), Part> &&
                       std::is_same_v<decltype(T().imag()), Part> &&
                       std::is_same_v<typename T::value_type, Part> && sizeof(T) == 2 * sizeof(Part)>;

template <class T>
constexpr dtype integer_dtype() noexcept {
  constexpr bool is_signed = std::is_signed_v<T>;
  if (sizeof(T) == 1) return is_signed ? dtype::i8 : dtype::u8;
  if (sizeof(T) == 2) return is_signed ? dtype::i16 : dtype::u16;
  if (sizeof(T) == 4) return is_signed ? dtype::i32 : dtype::u32;
  return is_signed ? dtype::i64 : dtype::u64;
}

}  // namespace detail

// Specialise for a storage type of your own: `static constexpr dtype value`. A type with a static
// member `numdiff_dtype` needs no specialisation.
template <class T, class = void>
struct dtype_of;

template <>
struct dtype_of<bool, void> {
  static constexpr dtype value = dtype::boolean;
};
template <>
struct dtype_of<float, void> {
  static constexpr dtype value = dtype::f32;
};
template <>
struct dtype_of<double, void> {
  static constexpr dtype value = dtype::f64;
};
template <class T>
struct dtype_of<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<T, bool>>> {
  static constexpr dtype value = detail::integer_dtype<T>();
};
template <class T>
struct dtype_of<T, std::enable_if_t<detail::is_complex_of<T, float>::value>> {
  static constexpr dtype value = dtype::c64;
};
template <class T>
struct dtype_of<T, std::enable_if_t<detail::is_complex_of<T, double>::value>> {
  static constexpr dtype value = dtype::c128;
};
template <class T>
struct dtype_of<T, std::enable_if_t<std::is_same_v<decltype(T::numdiff_dtype), const dtype>>> {
  static constexpr dtype value = T::numdiff_dtype;
};

template <class T>
inline constexpr dtype dtype_of_v = dtype_of<std::remove_cv_t<T>>::value;

}  // namespace v1
}  // namespace numdiff
