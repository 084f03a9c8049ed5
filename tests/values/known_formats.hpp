#pragma once
// The floating-point formats as their specifications and the CUDA headers have them, typed in and not
// derived.
#include "numdiff/format.hpp"

namespace numdiff::test {

struct known_format {
  dtype type;
  int bits, exponent_bits, mantissa_bits, bias;
  double max_finite;
  int min_normal, min_subnormal;  // powers of two
  bool has_infinity;
  nan_codes nan;
  bool has_signed_zero;

  constexpr bool is_signed() const { return bits > exponent_bits + mantissa_bits; }
};

inline constexpr known_format known_formats[] = {
    {dtype::f64, 64, 11, 52, 1023, 0x1.fffffffffffffp1023, -1022, -1074, true, nan_codes::ieee, true},
    {dtype::f32, 32, 8, 23, 127, 0x1.fffffep127, -126, -149, true, nan_codes::ieee, true},
    {dtype::tf32, 19, 8, 10, 127, 0x1.ffcp127, -126, -136, true, nan_codes::ieee, true},
    {dtype::bf16, 16, 8, 7, 127, 0x1.fep127, -126, -133, true, nan_codes::ieee, true},
    {dtype::f16, 16, 5, 10, 15, 65504, -14, -24, true, nan_codes::ieee, true},
    {dtype::f8e4m3fn, 8, 4, 3, 7, 448, -6, -9, false, nan_codes::all_ones, true},
    {dtype::f8e5m2, 8, 5, 2, 15, 57344, -14, -16, true, nan_codes::ieee, true},
    {dtype::f8e4m3fnuz, 8, 4, 3, 8, 240, -7, -10, false, nan_codes::negative_zero, false},
    {dtype::f8e5m2fnuz, 8, 5, 2, 16, 57344, -15, -17, false, nan_codes::negative_zero, false},
    {dtype::f8e4m3, 8, 4, 3, 7, 240, -6, -9, true, nan_codes::ieee, true},
    {dtype::f8e4m3b11fnuz, 8, 4, 3, 11, 30, -10, -13, false, nan_codes::negative_zero, false},
    {dtype::f8e3m4, 8, 3, 4, 3, 15.5, -2, -6, true, nan_codes::ieee, true},
    {dtype::f6e2m3fn, 6, 2, 3, 1, 7.5, 0, -3, false, nan_codes::none, true},
    {dtype::f6e3m2fn, 6, 3, 2, 3, 28, -2, -4, false, nan_codes::none, true},
    {dtype::f4e2m1fn, 4, 2, 1, 1, 6, 0, -1, false, nan_codes::none, true},
    {dtype::f8e8m0fnu, 8, 8, 0, 127, 0x1p127, -127, -127, false, nan_codes::all_ones, false},
    {dtype::ue4m3, 7, 4, 3, 7, 448, -6, -9, false, nan_codes::all_ones, false},
    {dtype::e5m6, 12, 5, 6, 15, 65024, -14, -20, true, nan_codes::ieee, true},
};

}  // namespace numdiff::test
