#pragma once
// Arrays of codes to values and back; the dtype is looked at once per array.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "numdiff/config.hpp"
#include "numdiff/dispatch.hpp"
#include "numdiff/storage.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

template <dtype T>
inline code_word<T> load_code(const void* codes, std::size_t i) noexcept {
  code_word<T> code;
  std::memcpy(&code, static_cast<const unsigned char*>(codes) + i * sizeof code, sizeof code);
  return code;
}
template <dtype T>
inline void store_code(void* codes, std::size_t i, std::uint64_t code) noexcept {
  const code_word<T> word = static_cast<code_word<T>>(code);
  std::memcpy(static_cast<unsigned char*>(codes) + i * sizeof word, &word, sizeof word);
}

template <dtype T, class Real>
inline Real value_of(std::uint64_t code) noexcept {
  if constexpr (std::is_same_v<Real, double>) {
    return decode_as<T>(code);
  } else {
    return decode_to_float<T>(code);
  }
}

template <dtype T, class Real>
inline void decode_array(const void* codes, Real* values, std::size_t count) noexcept {
  constexpr std::size_t table_size = 256;
  if constexpr (sizeof(code_word<T>) == 1) {
    if (count > table_size) {
      Real table[table_size];
      for (std::size_t i = 0; i < table_size; ++i) table[i] = value_of<T, Real>(i);
      for (std::size_t i = 0; i < count; ++i) values[i] = table[load_code<T>(codes, i)];
      return;
    }
  }
  for (std::size_t i = 0; i < count; ++i) values[i] = value_of<T, Real>(load_code<T>(codes, i));
}

// Nearest even, `Count` elements that are all zero or in T's normal range after saturation: straight-line
// code that compilers vectorise. False, and nothing is written, when one of them is not.
template <dtype T, std::size_t Count, bool Saturate, class Real>
inline bool encode_normal_block(const Real* values, void* codes) noexcept {
  using word = decltype(bits_of(Real{}));
  using layout = binary_layout<word>;
  constexpr format f = format_of(T);
  constexpr int shift = layout::mantissa - f.mantissa_bits;
  constexpr word rebias = static_cast<word>(word{layout::bias - f.bias} << layout::mantissa);
  constexpr word smallest = static_cast<word>(word{layout::bias + f.min_exponent()} << layout::mantissa);
  constexpr word largest = static_cast<word>((static_cast<word>(f.max_code()) << shift) + rebias);
  // without saturation values past the maximum go the long way
  constexpr word bound = Saturate ? infinity_bits<word>() : largest;
  word in[Count];
  word out[Count];
  std::memcpy(in, values, sizeof in);
  unsigned outside = 0;
  for (std::size_t i = 0; i < Count; ++i) {
    const word magnitude = static_cast<word>(in[i] & (sign_mask<word>() - 1));
    outside |= static_cast<unsigned>((magnitude < smallest) & (magnitude != 0)) | (magnitude > bound);
  }
  if (outside) return false;
  for (std::size_t i = 0; i < Count; ++i) {
    word magnitude = static_cast<word>(in[i] & (sign_mask<word>() - 1));
    const word nonzero = static_cast<word>(-static_cast<word>(magnitude != 0));
    magnitude = magnitude > largest ? largest : magnitude;
    const word odd = static_cast<word>((magnitude >> shift) & 1);
    const word half = (word{1} << (shift - 1)) - 1;
    const word sign =
        f.is_signed ? static_cast<word>(static_cast<word>(in[i] >> (layout::width - 1)) << (f.bits - 1)) : 0;
    const word code = static_cast<word>(((magnitude - rebias + half + odd) >> shift) & nonzero);
    out[i] = static_cast<word>((code | (f.has_signed_zero ? sign : sign & nonzero)) << f.padding);
  }
  for (std::size_t i = 0; i < Count; ++i) store_code<T>(codes, i, out[i]);
  return true;
}

template <dtype T, bool Saturate, class Real>
inline void encode_nearest_array(const Real* values, void* codes, std::size_t count) noexcept {
  using word = decltype(bits_of(Real{}));
  constexpr format f = format_of(T);
  constexpr overflow past = Saturate ? overflow::to_maximum : overflow::to_infinity;
  constexpr std::size_t block = 16;
  std::size_t i = 0;
  while (i < count) {
    std::size_t end = count;
    if constexpr (f.is_float() && f.has_zero && f.mantissa_bits < binary_layout<word>::mantissa) {
      if (count - i >= block) {
        unsigned char* to = static_cast<unsigned char*>(codes) + i * sizeof(code_word<T>);
        end = i + block;
        if (encode_normal_block<T, block, Saturate>(values + i, to)) i = end;
      }
    }
    for (; i < end; ++i) {
      store_code<T>(codes, i, encode_bits(bits_of(values[i]), f, rounding::nearest_even, past, 0));
    }
  }
}

template <dtype T, class Real>
inline void encode_array(const Real* values, void* codes, std::size_t count, cast_rule rule,
                         const std::uint64_t* random) noexcept {
  constexpr format f = format_of(T);
  const bool nearest = rule.round == rounding::nearest_even || rule.round == rounding::unknown;
  if (nearest && saturates(f, rule.past)) return encode_nearest_array<T, true>(values, codes, count);
  if (nearest) return encode_nearest_array<T, false>(values, codes, count);
  const bool stochastic = rule.round == rounding::stochastic;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t bits = stochastic ? random[i] : 0;
    store_code<T>(codes, i, encode_bits(bits_of(values[i]), f, rule.round, rule.past, bits));
  }
}

}  // namespace detail

// values[i] = decode(t, codes[i]), codes in their words (bytes_of(t) each, any alignment), complex parts
// apart: count counts parts. float rounds to nearest where it cannot hold the value. False for an unknown
// dtype, and nothing is written.
inline bool decode(dtype t, const void* codes, double* values, std::size_t count) noexcept {
  return visit_dtype(t, [&](auto d) { detail::decode_array<d.value>(codes, values, count); });
}
inline bool decode(dtype t, const void* codes, float* values, std::size_t count) noexcept {
  return visit_dtype(t, [&](auto d) { detail::decode_array<d.value>(codes, values, count); });
}

// codes[i] = encode(t, values[i], rule, random[i]); random is read by stochastic rounding only.
inline bool encode(dtype t, const double* values, void* codes, std::size_t count, cast_rule rule = {},
                   const std::uint64_t* random = nullptr) noexcept {
  return visit_dtype(t, [&](auto d) { detail::encode_array<d.value>(values, codes, count, rule, random); });
}
inline bool encode(dtype t, const float* values, void* codes, std::size_t count, cast_rule rule = {},
                   const std::uint64_t* random = nullptr) noexcept {
  return visit_dtype(t, [&](auto d) { detail::encode_array<d.value>(values, codes, count, rule, random); });
}

}  // namespace v1
}  // namespace numdiff
