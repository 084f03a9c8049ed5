#include "numdiff/storage.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <type_traits>

namespace {

using numdiff::dtype;
using numdiff::dtype_of_v;

static_assert(sizeof(numdiff::bf16_t) == 2 && std::is_trivial_v<numdiff::bf16_t>);
static_assert(sizeof(numdiff::f4e2m1fn_t) == 1 && std::is_standard_layout_v<numdiff::f4e2m1fn_t>);
static_assert(sizeof(numdiff::tf32_t) == 4 && sizeof(numdiff::e5m6_t) == 2);

static_assert(dtype_of_v<float> == dtype::f32 && dtype_of_v<const double> == dtype::f64);
static_assert(dtype_of_v<bool> == dtype::boolean && dtype_of_v<unsigned char> == dtype::u8);
static_assert(dtype_of_v<long> == dtype::i64 && dtype_of_v<std::uint16_t> == dtype::u16);
static_assert(dtype_of_v<const numdiff::f8e4m3fn_t> == dtype::f8e4m3fn);
static_assert(dtype_of_v<numdiff::ue4m3_t> == dtype::ue4m3 && dtype_of_v<void*> == dtype::unknown);

constexpr numdiff::bf16_t one{0x3f80};
static_assert(static_cast<float>(one) == 1.0f && static_cast<double>(one) == 1.0);
static_assert(numdiff::cast<numdiff::f16_t>(1.0f).bits == 0x3c00);

TEST_CASE("storage holds one code and casts to and from it") {
  CHECK(numdiff::cast<numdiff::f8e4m3fn_t>(1000.0).bits == 0x7e);
  CHECK(numdiff::cast<numdiff::f8e4m3fn_t>(1000.0f,
                                           {numdiff::rounding::nearest_even, numdiff::overflow::to_infinity})
            .bits == 0x7f);
  CHECK(static_cast<double>(numdiff::cast<numdiff::f4e2m1fn_t>(-2.6f)) == -3);
  CHECK(static_cast<float>(numdiff::f8e8m0fnu_t{0}) == 0x1p-127f);
  CHECK(static_cast<float>(numdiff::tf32_t{0x3f801fff}) == 1);
  CHECK(static_cast<float>(numdiff::f16_t{1}) == 0x1p-24f);
  CHECK(static_cast<float>(numdiff::bf16_t{1}) == 0x1p-133f);
  CHECK(static_cast<float>(numdiff::mxint8_t{0x81}) == -127 / 64.0f);
}

}  // namespace
