#pragma once
// Quantising one group of elements that share a scale.
#include <cstddef>
#include <cstdint>

#include "numdiff/accumulate.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/f32.hpp"
#include "numdiff/encode.hpp"
#include "numdiff/recipe.hpp"
#include "numdiff/scale_rules.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// Magnitudes of a group of elements, as bits, so that they order under any flags.
struct group_range {
  std::uint32_t amax = 0;
  bool nan = false;
  double low = 0, high = 0;  // of the finite elements and 0

  void add(float x) noexcept {
    const std::uint32_t magnitude = bits_of(x) & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
      nan = true;
      return;
    }
    if (magnitude > amax) amax = magnitude;
    if (magnitude == 0x7f800000u) return;
    const double value = double_of(widen(bits_of(x)));
    if (value < low) low = value;
    if (value > high) high = value;
  }
  float amax_for(nonfinite_scale rule) const noexcept {
    return float_of(rule == nonfinite_scale::poisoned && (nan || amax == 0x7f800000u) ? 0x7fc00000u : amax);
  }
};

// One group's scale: elements are multiplied by `encode` before the cast (or divided by `decode`, integers).
struct group_scale {
  std::uint32_t code = 0;
  float decode = 1;
  float encode = 1;
  std::int32_t zero_point = 0;
};

inline group_scale f32_scale(const recipe& r, float amax) noexcept {
  const float maximum = static_cast<float>(format_of(r.type).max_finite());
  group_scale s;
  if (r.given_encode_scale > 0) {
    s.encode = r.given_encode_scale;
  } else if ((bits_of(amax) & 0x7fffffffu) > 0x7f800000u && r.nonfinite == nonfinite_scale::poisoned) {
    s.encode = amax;
  } else {
    s.encode = encode_scale(bits_of(amax) < bits_of(r.smallest_amax) ? r.smallest_amax : amax, maximum,
                            r.power_of_two);
  }
  s.decode = inverse_scale(s.encode);
  s.code = bits_of(s.decode);
  return s;
}

inline group_scale mx_group_scale(const recipe& r, float amax) noexcept {
  group_scale s;
  s.code = mx_scale(amax, r.type, r.mx);
  s.decode = static_cast<float>(decode_as<dtype::f8e8m0fnu>(s.code));
  s.encode = s.code == 0xff ? s.decode : float_of(s.code == 254 ? 0x00400000u : (254 - s.code) << 23);
  return s;
}

inline group_scale nvfp4_group_scale(const recipe& r, float amax, float global_encode,
                                     float target) noexcept {
  group_scale s;
  s.code = nvfp4_block_scale(amax, global_encode, target);
  if (r.normal_block_scale && s.code < 0x08) s.code = 0x08;
  s.decode = static_cast<float>(decode_as<dtype::ue4m3>(s.code));
  s.encode = f32_quotient(global_encode, s.decode);
  if (bits_of(s.encode) == 0x7f800000u) s.encode = f32_max;
  return s;
}

// Integers: decode = amax / maximum, or with a zero point the range over the number of steps.
inline group_scale integer_scale(const recipe& r, const group_range& range) noexcept {
  const format f = format_of(r.type);
  const float maximum = static_cast<float>(f.magnitude_mask());
  const float minimum = f.is_signed ? -maximum - 1 : 0;
  group_scale s;
  if (r.zero_point) {
    const float width = to_f32(sum_to_odd(bits_of(range.high), bits_of(-range.low)));
    if (bits_of(width) != 0) s.decode = f32_quotient(width, maximum - minimum);
    const float low = f32_quotient(to_f32(bits_of(range.low)), s.decode);
    s.zero_point = static_cast<std::int32_t>(minimum) -
                   static_cast<std::int32_t>(decode_as<dtype::i32>(encode_as<dtype::i32>(low)));
  } else if (range.amax != 0 && range.amax < 0x7f800000u) {
    s.decode = f32_quotient(float_of(range.amax), maximum);
  }
  if (bits_of(s.decode) == 0) s.decode = float_of(1);  // underflowed: the smallest positive float
  s.code = bits_of(s.decode);
  s.encode = inverse_scale(s.decode);
  return s;
}

// Uniform bits for element i (splitmix64, Steele, Lea and Flood 2014).
inline std::uint64_t random_bits(std::uint64_t seed, std::uint64_t i) noexcept {
  std::uint64_t z = seed + (i + 1) * 0x9e3779b97f4a7c15u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}

inline std::uint8_t element_code(const recipe& r, const format& f, const group_scale& s, float x,
                                 std::size_t index) noexcept {
  const std::uint64_t random = r.round == rounding::stochastic ? random_bits(r.seed, index) : 0;
  const cast_rule rule{r.round, overflow::to_maximum};
  if (f.kind != number_kind::integer || f.type == dtype::mxint8) {
    return static_cast<std::uint8_t>(
        encode_bits(bits_of(f32_product(x, s.encode)), f, rule.round, rule.past, random));
  }
  const float scaled = f32_quotient(x, s.decode);
  if (!r.zero_point) {
    const std::uint64_t code = encode_bits(bits_of(scaled), f, rule.round, rule.past, random);
    const bool below = f.is_signed && code == f.sign_bit();  // the range is symmetric
    return static_cast<std::uint8_t>(below ? f.sign_bit() + 1 : code);
  }
  const std::int64_t step =
      static_cast<std::int64_t>(decode_as<dtype::i32>(encode_as<dtype::i32>(scaled, rule, random)));
  const std::int64_t maximum = static_cast<std::int64_t>(f.magnitude_mask());
  const std::int64_t minimum = f.is_signed ? -maximum - 1 : 0;
  const std::int64_t code = step + s.zero_point;
  return static_cast<std::uint8_t>(static_cast<std::uint64_t>(code < minimum   ? minimum
                                                              : code > maximum ? maximum
                                                                               : code) &
                                   low_mask(f.bits));
}

// A rectangle of a matrix, [begin, end).
struct block_area {
  std::size_t row_begin, row_end, column_begin, column_end;
};

template <class Visit>
inline void for_each_element(const block_area& b, std::size_t columns, Visit visit) {
  for (std::size_t i = b.row_begin; i < b.row_end; ++i) {
    for (std::size_t j = b.column_begin; j < b.column_end; ++j) visit(i * columns + j);
  }
}

inline group_range range_of(const float* values, const block_area& area, std::size_t columns) {
  group_range range;
  for_each_element(area, columns, [&](std::size_t i) { range.add(values[i]); });
  return range;
}

inline double squared_error(const recipe& r, const format& f, const group_scale& s, const float* values,
                            const block_area& area, std::size_t columns, float global_decode) {
  double sum = 0;
  for_each_element(area, columns, [&](std::size_t i) {
    const double decoded = decode_code(f, element_code(r, f, s, values[i], i)) *
                           static_cast<double>(s.decode) * static_cast<double>(global_decode);
    const double error = decoded - static_cast<double>(values[i]);
    sum += error * error;
  });
  return sum;
}

}  // namespace detail

}  // namespace v1
}  // namespace numdiff
