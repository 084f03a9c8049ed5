#pragma once
// Element types: identity, width and name. What the bits mean is in format.hpp.
#include <cstddef>
#include <cstdint>

#include "numdiff/config.hpp"

namespace numdiff {
inline namespace v1 {

// Stored in run files: never renumber, retired values stay listed.
enum class dtype : std::uint16_t {
  unknown = 0,
  boolean = 1,  // one byte, zero or not
  i4 = 2,
  u4 = 3,
  i8 = 4,
  u8 = 5,
  i16 = 6,
  u16 = 7,
  i32 = 8,
  u32 = 9,
  i64 = 10,
  u64 = 11,
  f64 = 12,
  f32 = 13,
  tf32 = 14,  // 19 significant bits in the high end of a 32-bit word
  bf16 = 15,
  f16 = 16,
  f8e4m3fn = 17,  // OCP E4M3
  f8e5m2 = 18,    // OCP E5M2
  f8e4m3fnuz = 19,
  f8e5m2fnuz = 20,
  f8e4m3 = 21,  // IEEE-like
  f8e4m3b11fnuz = 22,
  f8e3m4 = 23,
  f6e2m3fn = 24,
  f6e3m2fn = 25,
  f4e2m1fn = 26,
  f8e8m0fnu = 27,  // power-of-two scale
  ue4m3 = 28,      // unsigned E4M3, NVFP4's block scale
  mxint8 = 29,     // fixed point 1.6
  e5m6 = 30,       // 12 bits in a 16-bit word
  c64 = 31,        // two f32
  c128 = 32,       // two f64
};
inline constexpr std::uint16_t dtype_count = 33;

// Short names for call sites, as in NUMDIFF_OP(op, "y", matmul, numdiff::dtypes(e4m3, e4m3, f32, bf16)).
namespace dtypes_short {
inline constexpr dtype f64 = dtype::f64, f32 = dtype::f32, tf32 = dtype::tf32, bf16 = dtype::bf16,
                       f16 = dtype::f16, e4m3 = dtype::f8e4m3fn, e5m2 = dtype::f8e5m2;
}  // namespace dtypes_short

// Canonical id ("f8e4m3fn"), as files and reports spell it; "unknown" for a value out of range.
NUMDIFF_HD constexpr const char* name_of(dtype t) noexcept {
  switch (t) {
    case dtype::unknown: return "unknown";
    case dtype::boolean: return "bool";
    case dtype::i4: return "i4";
    case dtype::u4: return "u4";
    case dtype::i8: return "i8";
    case dtype::u8: return "u8";
    case dtype::i16: return "i16";
    case dtype::u16: return "u16";
    case dtype::i32: return "i32";
    case dtype::u32: return "u32";
    case dtype::i64: return "i64";
    case dtype::u64: return "u64";
    case dtype::f64: return "f64";
    case dtype::f32: return "f32";
    case dtype::tf32: return "tf32";
    case dtype::bf16: return "bf16";
    case dtype::f16: return "f16";
    case dtype::f8e4m3fn: return "f8e4m3fn";
    case dtype::f8e5m2: return "f8e5m2";
    case dtype::f8e4m3fnuz: return "f8e4m3fnuz";
    case dtype::f8e5m2fnuz: return "f8e5m2fnuz";
    case dtype::f8e4m3: return "f8e4m3";
    case dtype::f8e4m3b11fnuz: return "f8e4m3b11fnuz";
    case dtype::f8e3m4: return "f8e3m4";
    case dtype::f6e2m3fn: return "f6e2m3fn";
    case dtype::f6e3m2fn: return "f6e3m2fn";
    case dtype::f4e2m1fn: return "f4e2m1fn";
    case dtype::f8e8m0fnu: return "f8e8m0fnu";
    case dtype::ue4m3: return "ue4m3";
    case dtype::mxint8: return "mxint8";
    case dtype::e5m6: return "e5m6";
    case dtype::c64: return "c64";
    case dtype::c128: return "c128";
  }
  return "unknown";
}

// Bytes of one element in memory and in payloads (sub-byte formats: one code per byte); 0 for unknown.
NUMDIFF_HD constexpr std::size_t bytes_of(dtype t) noexcept {
  switch (t) {
    case dtype::unknown: return 0;
    case dtype::i16:
    case dtype::u16:
    case dtype::bf16:
    case dtype::f16:
    case dtype::e5m6: return 2;
    case dtype::i32:
    case dtype::u32:
    case dtype::f32:
    case dtype::tf32: return 4;
    case dtype::i64:
    case dtype::u64:
    case dtype::f64:
    case dtype::c64: return 8;
    case dtype::c128: return 16;
    default: return static_cast<std::uint16_t>(t) < dtype_count ? 1 : 0;
  }
}

NUMDIFF_HD constexpr bool is_integer(dtype t) noexcept {
  return t >= dtype::boolean && t <= dtype::u64;
}
NUMDIFF_HD constexpr bool is_complex(dtype t) noexcept {
  return t == dtype::c64 || t == dtype::c128;
}
// True for every binary floating-point format, scale formats included.
NUMDIFF_HD constexpr bool is_float(dtype t) noexcept {
  return t >= dtype::f64 && t <= dtype::e5m6 && t != dtype::mxint8;
}

}  // namespace v1
}  // namespace numdiff
