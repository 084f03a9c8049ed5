#pragma once
// One element of a format in memory, and the dtype of a C++ type.
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "numdiff/config.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/dtype.hpp"
#include "numdiff/encode.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {
template <std::size_t Bytes>
struct unsigned_word;
template <>
struct unsigned_word<1> {
  using type = std::uint8_t;
};
template <>
struct unsigned_word<2> {
  using type = std::uint16_t;
};
template <>
struct unsigned_word<4> {
  using type = std::uint32_t;
};
template <>
struct unsigned_word<8> {
  using type = std::uint64_t;
};

// As decode_as, rounded to nearest even where float cannot hold the value.
template <dtype T>
NUMDIFF_HD NUMDIFF_DETAIL_INLINE constexpr float decode_to_float(std::uint64_t code) noexcept {
  constexpr format f = format_of(T);
  if constexpr (f.is_float() && f.has_zero && f.exponent_bits == 8) {
    return float_of(static_cast<std::uint32_t>(trimmed(f, code) << (32 - f.bits)));
  } else if constexpr (f.is_float() && f.has_zero && f.exponent_bits < 8) {
    return float_of(decode_float_bits<std::uint32_t>(f, trimmed(f, code)));
  } else {
    return float_of(static_cast<std::uint32_t>(encode_as<dtype::f32>(decode_as<T>(code))));
  }
}

}  // namespace detail

// The word that holds a code of T; of one part for complex dtypes.
template <dtype T>
using code_word = typename detail::unsigned_word<bytes_of(T) / (is_complex(T) ? 2 : 1)>::type;

// A code of T in its word: bf16_t{0x3f80} is 1, static_cast<float>(bf16_t{0x3f80}) its value. Sub-byte
// formats take a byte each.
template <dtype T>
struct storage {
  code_word<T> bits;

  NUMDIFF_HD constexpr explicit operator double() const noexcept { return decode_as<T>(bits); }
  // Rounds nearest even where float cannot hold the value.
  NUMDIFF_HD constexpr explicit operator float() const noexcept { return detail::decode_to_float<T>(bits); }
};

using i4_t = storage<dtype::i4>;
using u4_t = storage<dtype::u4>;
using tf32_t = storage<dtype::tf32>;
using bf16_t = storage<dtype::bf16>;
using f16_t = storage<dtype::f16>;
using f8e4m3fn_t = storage<dtype::f8e4m3fn>;
using f8e5m2_t = storage<dtype::f8e5m2>;
using f8e4m3fnuz_t = storage<dtype::f8e4m3fnuz>;
using f8e5m2fnuz_t = storage<dtype::f8e5m2fnuz>;
using f8e4m3_t = storage<dtype::f8e4m3>;
using f8e4m3b11fnuz_t = storage<dtype::f8e4m3b11fnuz>;
using f8e3m4_t = storage<dtype::f8e3m4>;
using f6e2m3fn_t = storage<dtype::f6e2m3fn>;
using f6e3m2fn_t = storage<dtype::f6e3m2fn>;
using f4e2m1fn_t = storage<dtype::f4e2m1fn>;
using f8e8m0fnu_t = storage<dtype::f8e8m0fnu>;
using ue4m3_t = storage<dtype::ue4m3>;
using mxint8_t = storage<dtype::mxint8>;
using e5m6_t = storage<dtype::e5m6>;

// dtype_of_v<T>: the dtype of a storage struct, an arithmetic type or std::complex, unknown for any other.
// Specialise dtype_of for an element type of your own.
template <class T, class = void>
struct dtype_of {
  static constexpr dtype value = dtype::unknown;
};
template <dtype T>
struct dtype_of<storage<T>, void> {
  static constexpr dtype value = T;
};
template <>
struct dtype_of<float, void> {
  static constexpr dtype value = dtype::f32;
};
template <>
struct dtype_of<double, void> {
  static constexpr dtype value = dtype::f64;
};
template <>
struct dtype_of<bool, void> {
  static constexpr dtype value = dtype::boolean;
};
template <class T>
struct dtype_of<T, std::enable_if_t<std::is_integral_v<T> && !std::is_same_v<std::remove_cv_t<T>, bool>>> {
  static constexpr dtype value = sizeof(T) == 1   ? (std::is_signed_v<T> ? dtype::i8 : dtype::u8)
                                 : sizeof(T) == 2 ? (std::is_signed_v<T> ? dtype::i16 : dtype::u16)
                                 : sizeof(T) == 4 ? (std::is_signed_v<T> ? dtype::i32 : dtype::u32)
                                 : sizeof(T) == 8 ? (std::is_signed_v<T> ? dtype::i64 : dtype::u64)
                                                  : dtype::unknown;
};
namespace detail {
// std::complex<Part>, told by its members: <complex> is not light.
template <class T, class Part>
using complex_of =
    std::enable_if_t<std::is_same_v<typename T::value_type, Part> && sizeof(T) == 2 * sizeof(Part) &&
                     std::is_same_v<decltype(T().real()), Part> &&
                     std::is_same_v<decltype(T().imag()), Part>>;
}  // namespace detail
template <class T>
struct dtype_of<T, detail::complex_of<T, float>> {
  static constexpr dtype value = dtype::c64;
};
template <class T>
struct dtype_of<T, detail::complex_of<T, double>> {
  static constexpr dtype value = dtype::c128;
};
template <class T>
inline constexpr dtype dtype_of_v = dtype_of<std::remove_cv_t<T>>::value;

// cast<bf16_t>(x): x in the format of a storage struct, rounded once.
template <class Storage, class Real>
NUMDIFF_HD constexpr Storage cast(Real x, cast_rule rule = {}, std::uint64_t random = 0) noexcept {
  static_assert(std::is_same_v<Real, float> || std::is_same_v<Real, double>, "cast takes float or double");
  return Storage{static_cast<decltype(Storage::bits)>(encode_as<dtype_of_v<Storage>>(x, rule, random))};
}

}  // namespace v1
}  // namespace numdiff
