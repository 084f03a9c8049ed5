#pragma once
// From a dtype known at run time to one known at compile time, once per array instead of once per element.
#include <type_traits>

#include "numdiff/config.hpp"
#include "numdiff/dtype.hpp"

namespace numdiff {
inline namespace v1 {

template <dtype T>
using dtype_constant = std::integral_constant<dtype, T>;

// Calls f(dtype_constant<T>{}) for t. Complex dtypes call with their parts' dtype, f32 or f64. False, and
// no call, for unknown dtypes.
template <class F>
constexpr bool visit_dtype(dtype t, F&& f) {
#define NUMDIFF_DETAIL_VISIT(id) \
  case dtype::id: f(dtype_constant<dtype::id>{}); return true
  switch (t) {
    NUMDIFF_DETAIL_VISIT(boolean);
    NUMDIFF_DETAIL_VISIT(i4);
    NUMDIFF_DETAIL_VISIT(u4);
    NUMDIFF_DETAIL_VISIT(i8);
    NUMDIFF_DETAIL_VISIT(u8);
    NUMDIFF_DETAIL_VISIT(i16);
    NUMDIFF_DETAIL_VISIT(u16);
    NUMDIFF_DETAIL_VISIT(i32);
    NUMDIFF_DETAIL_VISIT(u32);
    NUMDIFF_DETAIL_VISIT(i64);
    NUMDIFF_DETAIL_VISIT(u64);
    NUMDIFF_DETAIL_VISIT(f64);
    NUMDIFF_DETAIL_VISIT(f32);
    NUMDIFF_DETAIL_VISIT(tf32);
    NUMDIFF_DETAIL_VISIT(bf16);
    NUMDIFF_DETAIL_VISIT(f16);
    NUMDIFF_DETAIL_VISIT(f8e4m3fn);
    NUMDIFF_DETAIL_VISIT(f8e5m2);
    NUMDIFF_DETAIL_VISIT(f8e4m3fnuz);
    NUMDIFF_DETAIL_VISIT(f8e5m2fnuz);
    NUMDIFF_DETAIL_VISIT(f8e4m3);
    NUMDIFF_DETAIL_VISIT(f8e4m3b11fnuz);
    NUMDIFF_DETAIL_VISIT(f8e3m4);
    NUMDIFF_DETAIL_VISIT(f6e2m3fn);
    NUMDIFF_DETAIL_VISIT(f6e3m2fn);
    NUMDIFF_DETAIL_VISIT(f4e2m1fn);
    NUMDIFF_DETAIL_VISIT(f8e8m0fnu);
    NUMDIFF_DETAIL_VISIT(ue4m3);
    NUMDIFF_DETAIL_VISIT(mxint8);
    NUMDIFF_DETAIL_VISIT(e5m6);
    case dtype::c64: f(dtype_constant<dtype::f32>{}); return true;
    case dtype::c128: f(dtype_constant<dtype::f64>{}); return true;
    case dtype::unknown: break;
  }
#undef NUMDIFF_DETAIL_VISIT
  return false;
}

}  // namespace v1
}  // namespace numdiff
