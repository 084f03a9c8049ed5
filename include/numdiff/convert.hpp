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
  } else if constexpr (T == dtype::bf16 || T == dtype::f32) {
    return float_of(static_cast<std::uint32_t>(code << (T == dtype::bf16 ? 16 : 0)));
  } else {
    return static_cast<float>(storage<T>{static_cast<code_word<T>>(code)});
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

template <dtype T, class Real>
inline void encode_array(const Real* values, void* codes, std::size_t count, cast_rule rule,
                         const std::uint64_t* random) noexcept {
  constexpr format f = format_of(T);
  if (rule.round == rounding::stochastic) {
    for (std::size_t i = 0; i < count; ++i) {
      store_code<T>(codes, i, encode_bits(bits_of(values[i]), f, rounding::stochastic, rule.past, random[i]));
    }
  } else if (rule.round == rounding::nearest_even || rule.round == rounding::unknown) {
    for (std::size_t i = 0; i < count; ++i) {
      store_code<T>(codes, i, encode_bits(bits_of(values[i]), f, rounding::nearest_even, rule.past, 0));
    }
  } else {
    for (std::size_t i = 0; i < count; ++i) {
      store_code<T>(codes, i, encode_bits(bits_of(values[i]), f, rule.round, rule.past, 0));
    }
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
