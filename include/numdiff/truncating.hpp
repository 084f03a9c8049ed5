#pragma once
// The truncating dot products of tensor cores: exact products, aligned and cut at a fixed number of bits.
// The model is the one that Fasi, Higham, Mikaitis and Pranesh 2021 and later measurements of NVIDIA GPUs
// agree on; docs/numerics.md has its steps.
#include <cstddef>
#include <cstdint>

#include "numdiff/accumulate.hpp"
#include "numdiff/config.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/encode.hpp"

namespace numdiff {
inline namespace v1 {

struct fused_dot_model {
  int products;       // summed in one step together with the accumulator
  int fraction_bits;  // kept below the largest exponent of the step
  int output_bits;    // fraction bits of the accumulator after the step; cut toward zero
};

// Device code copies one into a constexpr local before use.
namespace fused_dot_models {
inline constexpr fused_dot_model volta_f16{4, 23, 23};
inline constexpr fused_dot_model ampere_bf16{8, 24, 23};  // f16 too, and Ada
inline constexpr fused_dot_model ampere_tf32{4, 24, 23};
inline constexpr fused_dot_model ada_fp8{16, 13, 13};
inline constexpr fused_dot_model hopper_bf16{16, 25, 23};  // f16 too, and Blackwell
inline constexpr fused_dot_model hopper_tf32{8, 25, 23};
inline constexpr fused_dot_model hopper_fp8{32, 13, 13};
inline constexpr fused_dot_model blackwell_fp8{32, 25, 23};  // FP6 and FP4 too
}  // namespace fused_dot_models

// One operand of a dot product: values of `type`, decoded, `stride` elements apart.
struct fused_operand {
  dtype type;
  const double* values;
  std::ptrdiff_t stride = 1;

  NUMDIFF_HD constexpr double operator[](std::size_t i) const noexcept {
    return values[static_cast<std::ptrdiff_t>(i) * stride];
  }
};

namespace detail {

inline constexpr int no_exponent = -100000;

// Exponent as the unit sees it: subnormals keep the smallest one. no_exponent for zero.
NUMDIFF_HD constexpr int unit_exponent(double x, int min_exponent) noexcept {
  const std::uint64_t bits = bits_of(x);
  if ((bits & ~sign_mask<std::uint64_t>()) == 0) return no_exponent;
  const int e = octave_of_bits(bits);
  return e < min_exponent ? min_exponent : e;
}

NUMDIFF_HD constexpr bool is_finite(double x) noexcept {
  return (bits_of(x) & infinity_bits<std::uint64_t>()) != infinity_bits<std::uint64_t>();
}

// x / 2^e toward zero; |x| < 2^(e + 63).
NUMDIFF_HD constexpr std::int64_t units_of(double x, int e) noexcept {
  const std::uint64_t bits = bits_of(x);
  const int field = static_cast<int>((bits >> 52) & 2047);
  if (field == 0) return 0;
  const std::uint64_t significand = (bits & low_mask(52)) | (std::uint64_t{1} << 52);
  const int shift = field - 1075 - e;
  const std::uint64_t magnitude = shift >= 0 ? significand << shift : shift > -64 ? significand >> -shift : 0;
  const std::int64_t units = static_cast<std::int64_t>(magnitude);
  return bits >> 63 ? -units : units;
}

// integer * 2^e with `fraction_bits` bits after the leading one (after bit -126 below that), toward zero.
NUMDIFF_HD constexpr double cut(std::int64_t integer, int e, int fraction_bits) noexcept {
  if (integer == 0) return 0;
  const bool negative = integer < 0;
  std::uint64_t magnitude = static_cast<std::uint64_t>(integer);
  if (negative) magnitude = ~magnitude + 1;
  int octave = integer_octave(magnitude) + e;
  if (octave > 127)
    return double_of((negative ? sign_mask<std::uint64_t>() : 0) | infinity_bits<std::uint64_t>());
  if (octave < -126) octave = -126;
  const int dropped = octave - fraction_bits - e;
  if (dropped > 63) return 0;
  if (dropped > 0) magnitude &= ~low_mask(dropped);
  const std::uint64_t bits = scaled_integer_bits(magnitude, e);
  return double_of(negative && bits != 0 ? bits | sign_mask<std::uint64_t>() : bits);
}

}  // namespace detail

// accumulator + the `count` products of a and b from element `first`, one step of the unit. The accumulator
// is an f32 value. A result beyond f32 is infinite; NaN and infinities go through as in IEEE 754.
NUMDIFF_HD constexpr double fused_dot_step(const fused_dot_model& model, const fused_operand& a,
                                           const fused_operand& b, std::size_t first, std::size_t count,
                                           double accumulator) noexcept {
  const int min_a = format_of(a.type).min_exponent();
  const int min_b = format_of(b.type).min_exponent();
  int top = detail::unit_exponent(accumulator, -126);
  bool finite = detail::is_finite(accumulator);
  for (std::size_t i = first; i < first + count; ++i) {
    finite = finite && detail::is_finite(a[i]) && detail::is_finite(b[i]);
    const int exponent_a = detail::unit_exponent(a[i], min_a);
    const int exponent_b = detail::unit_exponent(b[i], min_b);
    if (exponent_a == detail::no_exponent || exponent_b == detail::no_exponent) continue;
    if (exponent_a + exponent_b > top) top = exponent_a + exponent_b;
  }
  if (!finite) {
    for (std::size_t i = first; i < first + count; ++i) accumulator += a[i] * b[i];
    return accumulator;
  }
  if (top == detail::no_exponent) return 0;
  const int unit = top - model.fraction_bits;
  std::int64_t sum = detail::units_of(accumulator, unit);
  for (std::size_t i = first; i < first + count; ++i) sum += detail::units_of(a[i] * b[i], unit);
  return detail::cut(sum, unit, model.output_bits);
}

// The dot product of `length` elements in steps, from zero. With promote_every > 0 the accumulator is added
// to an f32 sum (nearest even) and started anew after that many products; 0 never does.
NUMDIFF_HD constexpr double fused_dot(const fused_dot_model& model, const fused_operand& a,
                                      const fused_operand& b, std::size_t length,
                                      std::size_t promote_every = 0) noexcept {
  const std::size_t step = static_cast<std::size_t>(model.products);
  double promoted = 0;
  double accumulator = 0;
  std::size_t until_promotion = promote_every;
  for (std::size_t first = 0; first < length;) {
    std::size_t count = length - first < step ? length - first : step;
    if (promote_every > 0 && count > until_promotion) count = until_promotion;
    accumulator = fused_dot_step(model, a, b, first, count, accumulator);
    first += count;
    if (promote_every == 0) continue;
    until_promotion -= count;
    if (until_promotion == 0) {
      promoted = add_rounded<dtype::f32>(promoted, accumulator);
      accumulator = 0;
      until_promotion = promote_every;
    }
  }
  return promote_every == 0 ? accumulator : add_rounded<dtype::f32>(promoted, accumulator);
}

}  // namespace v1
}  // namespace numdiff
