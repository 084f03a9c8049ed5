#pragma once
// From the largest magnitude of a group of elements to the scale that they share, as the stacks compute it.
#include <cstddef>
#include <cstdint>

#include "numdiff/config.hpp"
#include "numdiff/detail/bits.hpp"
#include "numdiff/detail/f32.hpp"
#include "numdiff/encode.hpp"

namespace numdiff {
inline namespace v1 {

inline constexpr float f32_max = 0x1.fffffep127f;

// FP32 scale by which values are multiplied before the cast: maximum / amax, 1 when amax is 0, infinite or
// NaN, the largest float when the quotient overflows; rounded down to a power of two on request
// (TransformerEngine's rule).
NUMDIFF_HD constexpr float encode_scale(float amax, float maximum, bool power_of_two = false) noexcept {
  const std::uint32_t bits = detail::bits_of(amax) & 0x7fffffffu;
  if (bits == 0 || bits >= 0x7f800000u) return 1;
  std::uint32_t scale = detail::bits_of(detail::f32_quotient(maximum, detail::float_of(bits)));
  if (scale >= 0x7f800000u) scale = detail::bits_of(f32_max);
  if (power_of_two && scale >= 0x00800000u) scale &= 0xff800000u;
  return detail::float_of(scale);
}

// 1 / scale, in FP32.
NUMDIFF_HD constexpr float inverse_scale(float scale) noexcept {
  return detail::f32_quotient(1, scale);
}

// How the E8M0 scale of an MX block follows from amax; emax is the exponent of the element's maximum.
enum class mx_rule : std::uint8_t {
  floor,    // floor(log2 amax) - emax: OCP MX 1.0; clips values past the maximum
  rceil,    // ceil(log2(amax * fl(1 / maximum))): NVIDIA; never clips
  ceiling,  // ceil(log2 amax) - emax
  even,     // floor's rule after rounding amax to the element's mantissa bits
};

// E8M0 code of the decode scale. amax 0 gives code 0, infinity 0xfe, NaN 0xff.
NUMDIFF_HD constexpr std::uint8_t mx_scale(float amax, dtype element, mx_rule rule) noexcept {
  const format f = format_of(element);
  const std::uint32_t bits = detail::bits_of(amax) & 0x7fffffffu;
  if (bits > 0x7f800000u) return 0xff;
  if (bits == 0x7f800000u) return 0xfe;
  if (bits == 0) return 0;
  if (rule == mx_rule::rceil) {
    const float reciprocal = inverse_scale(static_cast<float>(f.max_finite()));
    return static_cast<std::uint8_t>(encode_as<dtype::f8e8m0fnu>(
        detail::f32_product(detail::float_of(bits), reciprocal), {rounding::up, overflow::to_maximum}));
  }
  std::uint64_t wide = detail::widen(bits);
  // half a step of the element's mantissa: a carry into the exponent is all that matters
  if (rule == mx_rule::even) wide += std::uint64_t{1} << (51 - f.mantissa_bits);
  int exponent = detail::octave_of_bits(wide) - (f.is_float() ? f.max_exponent() : 0);
  if (rule == mx_rule::ceiling && (wide & detail::low_mask(52)) != 0) ++exponent;
  return static_cast<std::uint8_t>(exponent < -127 ? 0 : exponent > 127 ? 254 : exponent + 127);
}

// The two levels of NVFP4: value = code * block scale (E4M3) * 1 / global encode scale (FP32).
// maximum is 448 * 6, or 256 * 6 where block maxima may map to 4. 1 when amax is 0, infinite or NaN.
NUMDIFF_HD constexpr float nvfp4_global_encode_scale(float amax, float maximum = 448 * 6) noexcept {
  return encode_scale(amax, maximum);
}
// E4M3 code of a block's scale: (amax / target) * global_encode, saturating, nearest even. Zero for a
// block whose amax is 458752 times below the tensor's.
NUMDIFF_HD constexpr std::uint8_t nvfp4_block_scale(float amax, float global_encode,
                                                    float target = 6) noexcept {
  const float scale = detail::f32_product(detail::f32_quotient(amax, target), global_encode);
  return static_cast<std::uint8_t>(encode_as<dtype::ue4m3>(scale));
}

// Delayed scaling (TransformerEngine): the scale of a step comes from the amax of the steps before. `values`
// is the caller's history, values[0] the step that is running.
struct amax_history {
  float* values;
  std::size_t length;
  enum class pick : std::uint8_t { largest, most_recent } algorithm = pick::largest;

  // Takes in an amax of the running step; NaN is dropped, as fmax does.
  NUMDIFF_HD constexpr void observe(float amax) const noexcept {
    const std::uint32_t bits = detail::bits_of(amax) & 0x7fffffffu;
    if (bits <= 0x7f800000u && bits > detail::bits_of(values[0])) values[0] = detail::float_of(bits);
  }
  // Ends the step: the next encode scale, (maximum / amax) / 2^margin, or `previous` when amax is 0 or not
  // finite; then moves the history on by one.
  NUMDIFF_HD constexpr float next_encode_scale(float previous, float maximum, int margin = 0) const noexcept {
    std::uint32_t amax = detail::bits_of(values[0]);
    if (algorithm == pick::largest) {
      for (std::size_t i = 1; i < length; ++i) {
        if (detail::bits_of(values[i]) > amax) amax = detail::bits_of(values[i]);
      }
    }
    for (std::size_t i = length - 1; i > 0; --i) values[i] = values[i - 1];
    values[0] = 0;
    if (amax == 0 || amax >= 0x7f800000u) return previous;
    const float power = static_cast<float>(detail::power_of_two(-margin));
    const float scale = detail::f32_product(detail::f32_quotient(maximum, detail::float_of(amax)), power);
    return detail::bits_of(scale) >= 0x7f800000u ? f32_max : scale;
  }
};

}  // namespace v1
}  // namespace numdiff
