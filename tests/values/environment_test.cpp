// Built twice, plainly and with -ffast-math, and run in several floating-point environments: one digest of
// all results.
#include <doctest/doctest.h>

#include <cfenv>
#include <cstdint>
#include <vector>

#include "numdiff/classify.hpp"
#include "numdiff/convert.hpp"
#include "numdiff/hadamard.hpp"
#include "numdiff/quantize.hpp"
#include "numdiff/truncating.hpp"
#include "numdiff/ulp.hpp"

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

namespace {

using namespace numdiff;

struct hasher {
  std::uint64_t state = 14695981039346656037u;
  std::uint64_t random = 1;

  void add(std::uint64_t x) { state = (state ^ x) * 1099511628211u; }
  void add(double x) { add(detail::bits_of(x)); }
  std::uint64_t next() {
    random = random * 6364136223846793005u + 1442695040888963407u;
    return random ^ (random >> 29);
  }
  // Any float; with one in eight a subnormal, and one in 64 NaN or infinite.
  float next_float() {
    std::uint32_t bits = static_cast<std::uint32_t>(next());
    if (bits % 8 == 3) bits &= 0x807fffffu;
    if (bits % 64 == 5) bits |= 0x7f800000u;
    return detail::float_of(bits);
  }
};

void add_casts(hasher& h) {
  const rounding modes[] = {rounding::nearest_even, rounding::toward_zero, rounding::up,
                            rounding::stochastic};
  for (std::uint16_t id = 1; id < dtype_count; ++id) {
    const dtype t = static_cast<dtype>(id);
    for (int i = 0; i < 20000; ++i) {
      const cast_rule rule{modes[i % 4], i % 8 < 4 ? overflow::to_maximum : overflow::to_infinity};
      const std::uint64_t bits = h.next();
      const float narrow = h.next_float();
      h.add(encode(t, narrow, rule, bits));
      h.add(encode(t, detail::double_of(bits), rule, bits));
      h.add(decode(t, bits));
      h.add(ulp(t, decode(t, bits)));
      h.add(static_cast<std::uint64_t>(classify(t, bits)));
      h.add(static_cast<std::uint64_t>(octave(t, bits)));
    }
    float values[300];
    std::uint64_t codes[300] = {};
    for (float& x : values) x = h.next_float();
    encode(t, values, codes, 300);
    decode(t, codes, values, 300);
    for (const float x : values) {  // which NaN is not promised
      const bool nan = classify(dtype::f32, detail::bits_of(x)) == number_class::nan;
      h.add(nan ? std::uint64_t{1} : std::uint64_t{detail::bits_of(x)});
    }
  }
}

void add_sums(hasher& h) {
  for (int i = 0; i < 20000; ++i) {
    const double a = decode_as<dtype::f32>(h.next()), b = decode_as<dtype::f32>(h.next());
    h.add(add_rounded<dtype::f32>(a, b));
    h.add(multiply_add_rounded<dtype::bf16>(a, b, 3));
  }
  double a[256], b[256];
  for (int n = 0; n < 50; ++n) {
    for (int i = 0; i < 256; ++i) {
      a[i] = decode_as<dtype::f6e3m2fn>(h.next());
      b[i] = decode_as<dtype::f6e3m2fn>(h.next());
    }
    h.add(fused_dot(fused_dot_models::hopper_fp8, {dtype::f6e3m2fn, a}, {dtype::f6e3m2fn, b}, 256, 64));
  }
}

void add_quantised(hasher& h) {
  const recipe recipes[] = {recipe_tensor(dtype::f8e4m3fn),
                            recipe_row(dtype::f8e5m2),
                            recipe_block(dtype::f8e4m3fn, 4, 8, true),
                            recipe_mx(dtype::f8e4m3fn, mx_rule::floor),
                            recipe_mx(dtype::f6e2m3fn, mx_rule::rceil),
                            recipe_mx(dtype::f4e2m1fn, mx_rule::even),
                            recipe_mx(dtype::mxint8, mx_rule::ceiling),
                            recipe_nvfp4(),
                            recipe_integer(dtype::i8),
                            recipe_integer(dtype::u4, true)};
  std::vector<float> x(16 * 64);
  for (recipe r : recipes) {
    for (float& v : x) v = h.next_float();
    for (std::size_t i = 0; i < x.size() / 2; ++i) {  // the other half of ordinary size
      x[i] = detail::float_of((detail::bits_of(x[i]) & 0x807fffffu) | 0x3f800000u);
    }
    for (const rounding mode : {rounding::nearest_even, rounding::stochastic}) {
      r.round = mode;
      const quantized q = quantize(x.data(), 16, 64, r);
      for (const std::uint8_t c : q.codes) h.add(std::uint64_t{c});
      for (const std::uint8_t c : q.scale_codes) h.add(std::uint64_t{c});
      for (const std::int32_t z : q.zero_points) h.add(static_cast<std::uint64_t>(z));
    }
    hadamard16(x.data(), 1, 0x1234);
    for (int i = 0; i < 16; ++i) h.add(std::uint64_t{detail::bits_of(x[static_cast<std::size_t>(i)])});
  }
}

std::uint64_t digest() {
  hasher h;
  add_casts(h);
  add_sums(h);
  add_quantised(h);
  return h.state;
}

// Any change of any result changes it; a wanted change brings the new value.
constexpr std::uint64_t expected = 3158072339480482511u;

TEST_CASE("results do not depend on the compiler's flags") {
  CHECK(digest() == expected);
}

TEST_CASE("nor on the rounding mode") {
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    REQUIRE(std::fesetround(mode) == 0);
    const std::uint64_t found = digest();
    std::fesetround(FE_TONEAREST);
    CHECK(found == expected);
  }
}

#if defined(__SSE__)
TEST_CASE("nor on FTZ and DAZ") {
  const unsigned control = _mm_getcsr();
  _mm_setcsr(control | 0x8040);
  const std::uint64_t found = digest();
  _mm_setcsr(control);
  CHECK(found == expected);
}
#endif

}  // namespace
