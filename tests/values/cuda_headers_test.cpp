// The CUDA headers' host conversions as a second oracle, built where the toolkit is.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp4.h>
#include <cuda_fp6.h>
#include <cuda_fp8.h>
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace {

using numdiff::decode;
using numdiff::dtype;
using numdiff::encode;
using numdiff::overflow;
using numdiff::rounding;

// Values and midpoints of a format of up to 16 bits with their neighbours, specials, and random doubles.
std::vector<double> inputs(dtype t) {
  std::vector<double> xs = {0.0,   -0.0,   HUGE_VAL, -HUGE_VAL, std::nan(""), -std::nan(""),
                            1e300, 5e-324, 449,      464,       465,          480};
  const numdiff::format f = numdiff::format_of(t);
  for (std::uint64_t code = 0; code <= f.max_code(); ++code) {
    const double low = decode(t, code);
    const double high = code < f.max_code() ? decode(t, code + 1) : low + (low - decode(t, code - 1));
    for (const double x : {low, (low + high) / 2, high}) {
      for (const double y : {x, std::nextafter(x, HUGE_VAL), std::nextafter(x, -HUGE_VAL)}) {
        xs.push_back(y);
        xs.push_back(-y);
        xs.push_back(static_cast<double>(std::nextafterf(static_cast<float>(y), HUGE_VALF)));
        xs.push_back(static_cast<double>(std::nextafterf(static_cast<float>(y), -HUGE_VALF)));
      }
    }
  }
  std::uint64_t bits = 1;
  for (int i = 0; i < 200000; ++i) {
    bits = bits * 6364136223846793005u + 1442695040888963407u;
    const std::uint64_t mixed = bits ^ (bits >> 29);
    const std::uint64_t exponent = 1023 - 40 + mixed % 80;
    xs.push_back(numdiff::detail::double_of((mixed & 0x800fffffffffffffu) | exponent << 52));
  }
  return xs;
}

struct result {
  long wrong = 0;
  double first = 0;
  void expect(bool ok, double x) {
    if (!ok && wrong++ == 0) first = x;
  }
};

// `theirs` for double and for float inputs.
template <class FromDouble, class FromFloat>
void compare(dtype t, numdiff::cast_rule rule, FromDouble from_double, FromFloat from_float) {
  CAPTURE(std::string(numdiff::name_of(t)));
  CAPTURE(static_cast<int>(rule.round));
  CAPTURE(static_cast<int>(rule.past));
  result r;
  for (const double x : inputs(t)) {
    r.expect(encode(t, x, rule) == from_double(x), x);
    const float narrow = static_cast<float>(x);
    r.expect(encode(t, narrow, rule) == from_float(narrow), x);
  }
  CAPTURE(r.first);
  CHECK(r.wrong == 0);
}

// The headers' conversion from double keeps a NaN's sign and gives 0x7e for E5M2; from float, half and bf16
// it gives 0x7f, as the instruction does.
std::uint64_t from_double(double x, __nv_saturation_t mode, __nv_fp8_interpretation_t format) {
  return std::isnan(x) ? __nv_cvt_float_to_fp8(static_cast<float>(x), mode, format)
                       : __nv_cvt_double_to_fp8(x, mode, format);
}

TEST_CASE("FP8 casts, saturating and not") {
  const std::pair<dtype, __nv_fp8_interpretation_t> formats[] = {{dtype::f8e4m3fn, __NV_E4M3},
                                                                 {dtype::f8e5m2, __NV_E5M2}};
  for (const auto& [t, theirs] : formats) {
    for (const bool saturate : {true, false}) {
      const __nv_saturation_t mode = saturate ? __NV_SATFINITE : __NV_NOSAT;
      compare(
          t, {rounding::nearest_even, saturate ? overflow::to_maximum : overflow::to_infinity},
          [&, theirs = theirs](double x) { return from_double(x, mode, theirs); },
          [&, theirs = theirs](float x) { return __nv_cvt_float_to_fp8(x, mode, theirs); });
    }
  }
}

TEST_CASE("FP6 and FP4 casts, nearest and toward zero") {
  for (const bool nearest : {true, false}) {
    const cudaRoundMode mode = nearest ? cudaRoundNearest : cudaRoundZero;
    const numdiff::cast_rule rule{nearest ? rounding::nearest_even : rounding::toward_zero};
    compare(
        dtype::f6e2m3fn, rule, [&](double x) { return __nv_cvt_double_to_fp6(x, __NV_E2M3, mode); },
        [&](float x) { return __nv_cvt_float_to_fp6(x, __NV_E2M3, mode); });
    compare(
        dtype::f6e3m2fn, rule, [&](double x) { return __nv_cvt_double_to_fp6(x, __NV_E3M2, mode); },
        [&](float x) { return __nv_cvt_float_to_fp6(x, __NV_E3M2, mode); });
    compare(
        dtype::f4e2m1fn, rule, [&](double x) { return __nv_cvt_double_to_fp4(x, __NV_E2M1, mode); },
        [&](float x) { return __nv_cvt_float_to_fp4(x, __NV_E2M1, mode); });
  }
}

TEST_CASE("E8M0 casts, floor and ceiling, saturating and not") {
  for (const bool down : {true, false}) {
    for (const bool saturate : {true, false}) {
      const cudaRoundMode mode = down ? cudaRoundZero : cudaRoundPosInf;
      const __nv_saturation_t past = saturate ? __NV_SATFINITE : __NV_NOSAT;
      compare(
          dtype::f8e8m0fnu,
          {down ? rounding::toward_zero : rounding::up,
           saturate ? overflow::to_maximum : overflow::to_infinity},
          [&](double x) { return __nv_cvt_double_to_e8m0(x, past, mode); },
          [&](float x) { return __nv_cvt_float_to_e8m0(x, past, mode); });
    }
  }
}

TEST_CASE("FP16 and BF16 casts") {
  const auto half_bits = [](__half h) { return __half_raw(h).x; };
  const auto bf16_bits = [](__nv_bfloat16 h) { return __nv_bfloat16_raw(h).x; };
  compare(
      dtype::f16, {}, [&](double x) { return half_bits(__double2half(x)); },
      [&](float x) { return half_bits(__float2half_rn(x)); });
  compare(
      dtype::bf16, {}, [&](double x) { return bf16_bits(__double2bfloat16(x)); },
      [&](float x) { return bf16_bits(__float2bfloat16_rn(x)); });
  result r;
  for (const dtype t : {dtype::f16, dtype::bf16}) {
    for (const double x : inputs(t)) {
      const float narrow = static_cast<float>(x);
      const bool half = t == dtype::f16;
      r.expect(encode(t, narrow, {rounding::toward_zero}) ==
                   (half ? half_bits(__float2half_rz(narrow)) : bf16_bits(__float2bfloat16_rz(narrow))),
               x);
      r.expect(encode(t, narrow, {rounding::up}) ==
                   (half ? half_bits(__float2half_ru(narrow)) : bf16_bits(__float2bfloat16_ru(narrow))),
               x);
    }
  }
  CAPTURE(r.first);
  CHECK(r.wrong == 0);
}

// All codes of a format; NaN against NaN is equal.
template <class Theirs>
void compare_decode(dtype t, Theirs theirs) {
  CAPTURE(std::string(numdiff::name_of(t)));
  result r;
  for (std::uint64_t code = 0; code < (std::uint64_t{1} << numdiff::format_of(t).bits); ++code) {
    const double x = decode(t, code);
    const double y = theirs(code);
    r.expect(std::isnan(x) ? std::isnan(y) : x == y && std::signbit(x) == std::signbit(y), x);
  }
  CHECK(r.wrong == 0);
}

TEST_CASE("decoding") {
  const auto from_half = [](__half_raw h) { return static_cast<double>(__half2float(__half(h))); };
  compare_decode(dtype::f8e4m3fn, [&](std::uint64_t c) {
    return from_half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(c), __NV_E4M3));
  });
  compare_decode(dtype::f8e5m2, [&](std::uint64_t c) {
    return from_half(__nv_cvt_fp8_to_halfraw(static_cast<__nv_fp8_storage_t>(c), __NV_E5M2));
  });
  compare_decode(dtype::f6e2m3fn, [&](std::uint64_t c) {
    return from_half(__nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(c), __NV_E2M3));
  });
  compare_decode(dtype::f6e3m2fn, [&](std::uint64_t c) {
    return from_half(__nv_cvt_fp6_to_halfraw(static_cast<__nv_fp6_storage_t>(c), __NV_E3M2));
  });
  compare_decode(dtype::f4e2m1fn, [&](std::uint64_t c) {
    return from_half(__nv_cvt_fp4_to_halfraw(static_cast<__nv_fp4_storage_t>(c), __NV_E2M1));
  });
  compare_decode(dtype::f8e8m0fnu, [&](std::uint64_t c) {
    const __nv_bfloat16 b(__nv_cvt_e8m0_to_bf16raw(static_cast<__nv_fp8_storage_t>(c)));
    return static_cast<double>(__bfloat162float(b));
  });
  compare_decode(dtype::f16,
                 [&](std::uint64_t c) { return from_half(__half_raw{static_cast<unsigned short>(c)}); });
  compare_decode(dtype::bf16, [&](std::uint64_t c) {
    return static_cast<double>(
        __bfloat162float(__nv_bfloat16(__nv_bfloat16_raw{static_cast<unsigned short>(c)})));
  });
}

}  // namespace
