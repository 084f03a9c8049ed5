// Counts before a cast and errors after it, for every pair of formats, against wide arithmetic.
#include "capture/observe/tensors.hpp"

using namespace tensors;
using numdiff::granularity;

namespace {

// Whether y rounds past the largest finite value, by rounding to the format's steps without a bound.
bool overflows(dtype t, double y) {
  const numdiff::format f = numdiff::format_of(t);
  if (f.kind == numdiff::number_kind::integer) {
    const double r = std::nearbyint(y * std::ldexp(1, f.mantissa_bits));
    const double top = static_cast<double>(f.magnitude_mask());
    const double bottom = !f.is_signed ? 0 : f.mantissa_bits ? -top : -top - 1;
    return r > top || r < bottom;
  }
  if (f.bits == 64) return false;
  int e = 0;
  std::frexp(y, &e);
  const double step = std::ldexp(1, e - 1 - f.mantissa_bits);
  return std::nearbyint(std::fabs(y) / step) * step > f.max_finite();
}

void check_cast(dtype source, dtype destination, double scale, double zero, unsigned seed) {
  CAPTURE(numdiff::name_of(source));
  CAPTURE(numdiff::name_of(destination));
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  constexpr std::size_t count = 1500;
  const std::size_t from_size = numdiff::bytes_of(source), to_size = numdiff::bytes_of(destination);
  const numdiff::format from = numdiff::format_of(source);
  const double top = numdiff::format_of(destination).max_finite();
  std::vector<unsigned char> x(count * from_size), codes(count * to_size);
  const float decode = static_cast<float>(scale);
  const unsigned char zero_code = static_cast<unsigned char>(zero);
  oracle::wide clip = 0, rounding = 0, underflow = 0, signed_error = 0, squares = 0;
  detail::cast_row want{};
  want.count = count;
  for (std::size_t i = 0; i < count; ++i) {
    double v = normal(random) * std::ldexp(scale, static_cast<int>(random() % 12) - 6);
    if (random() % 3 == 0) v *= std::fmin(top, 1e30);
    if (random() % 50 == 0) v = std::numeric_limits<double>::infinity();
    if (random() % 50 == 0) v = std::numeric_limits<double>::quiet_NaN();
    if (random() % 50 == 0) v = 0;
    if (random() % 50 == 0) v = -from.max_finite();
    const std::uint64_t source_code = numdiff::encode(source, v);
    std::memcpy(x.data() + i * from_size, &source_code, from_size);
    v = numdiff::decode(source, source_code);
    double y = v / static_cast<double>(decode);
    if (scale != 1) y = v * (1 / static_cast<double>(decode));
    if (scale != 1 && from.bits <= 32) y = static_cast<double>(static_cast<float>(y));
    y += zero;
    const std::uint64_t code = numdiff::encode(destination, y);
    std::memcpy(codes.data() + i * to_size, &code, to_size);
    if (std::isnan(v)) {
      ++want.nan;
      continue;
    }
    if (std::isinf(v)) {
      ++want.infinite;
      continue;
    }
    want.amax = std::fmax(want.amax, std::fabs(v));
    const double value = (numdiff::decode(destination, code) - zero) * static_cast<double>(decode);
    const numdiff::format f = numdiff::format_of(destination);
    const double largest =
        f.kind == numdiff::number_kind::integer && y < 0
            ? static_cast<double>(numdiff::detail::integer_limit(f, true)) / std::ldexp(1, f.mantissa_bits)
            : f.max_finite();
    if (std::fabs(y) > largest) ++want.beyond_maximum;
    const bool over = overflows(destination, y);
    if (over) ++want.overflowing;
    const bool flushed = v != 0 && value == 0;
    if (flushed) ++want.flushed;
    if (numdiff::classify(destination, code) == numdiff::number_class::subnormal) ++want.subnormal;
    if (from.is_float() && from.bits >= 16 && std::fabs(v) == from.max_finite()) continue;
    squares += oracle::wide(v) * v;
    if (!std::isfinite(value)) continue;
    const oracle::wide error = oracle::wide(value) - v;
    (over ? clip : flushed ? underflow : rounding) += error * error;
    signed_error += v < 0 ? -error : v > 0 ? error : 0;
  }
  detail::observe_input in;
  in.tensor = dense(codes.data(), destination, {30, 50});
  const detail::strided_codes from_view = dense(x.data(), source, {30, 50});
  in.cast_source = &from_view;
  if (scale != 1) {
    in.scaling.granularity = granularity::tensor;
    in.scaling.scales = &decode;
    if (zero != 0) {
      in.scaling.zero_points = &zero_code;
      in.scaling.zero_point_type = dtype::i8;
    }
  }
  check(in);
  detail::observation out;
  REQUIRE(detail::observe_for_test(in, out));
  REQUIRE(out.has_cast);
  const detail::cast_row& got = out.cast;
  CHECK(got.source_dtype == static_cast<std::uint16_t>(source));
  CHECK(got.count == want.count);
  CHECK(got.nan == want.nan);
  CHECK(got.infinite == want.infinite);
  CHECK(got.beyond_maximum == want.beyond_maximum);
  CHECK(got.overflowing == want.overflowing);
  CHECK(got.flushed == want.flushed);
  CHECK(got.subnormal == want.subnormal);
  CHECK(got.amax == want.amax);
  CHECK(close(got.sum_sq, squares, squares));
  CHECK(close(got.clip_sq, clip, clip));
  CHECK(close(got.rounding_sq, rounding, rounding));
  CHECK(close(got.underflow_sq, underflow, underflow));
  CHECK(close(got.signed_error, signed_error, sqrt((clip + rounding + underflow) * 1500)));
}

}  // namespace

TEST_CASE("casts without scale") {
  unsigned seed = 1;
  for (dtype source : {dtype::f64, dtype::f32, dtype::bf16, dtype::f16}) {
    for (dtype destination :
         {dtype::f32, dtype::bf16, dtype::f16, dtype::tf32, dtype::f8e4m3fn, dtype::f8e5m2, dtype::f8e4m3fnuz,
          dtype::f8e5m2fnuz, dtype::f6e2m3fn, dtype::f6e3m2fn, dtype::f4e2m1fn, dtype::e5m6, dtype::i8,
          dtype::u8, dtype::i4, dtype::mxint8}) {
      check_cast(source, destination, 1, 0, seed++);
    }
  }
}

TEST_CASE("casts with a scale and a zero point") {
  unsigned seed = 100;
  for (dtype source : {dtype::f64, dtype::f32, dtype::bf16}) {
    for (dtype destination : {dtype::f8e4m3fn, dtype::f8e5m2, dtype::f4e2m1fn, dtype::i8, dtype::u4}) {
      check_cast(source, destination, 0.0371, 0, seed++);
      check_cast(source, destination, 12.5, numdiff::is_integer(destination) ? 3 : 0, seed++);
    }
  }
}

TEST_CASE("the edges of overflow") {
  struct edge {
    dtype type;
    double last, first;  // the largest y that does not overflow, the smallest that does
  };
  const double up = std::numeric_limits<double>::epsilon();
  for (const edge& e :
       {edge{dtype::f8e4m3fn, 464, 464 * (1 + up)}, edge{dtype::f8e5m2, 61440 * (1 - up), 61440},
        edge{dtype::f8e4m3fnuz, 248 * (1 - up), 248}, edge{dtype::f16, 65520 * (1 - up), 65520},
        edge{dtype::f4e2m1fn, 7 * (1 - up), 7}, edge{dtype::f6e2m3fn, 7.75 * (1 - up), 7.75},
        edge{dtype::f6e3m2fn, 30 * (1 - up), 30}, edge{dtype::i8, 127.5 * (1 - up), 127.5}}) {
    CAPTURE(numdiff::name_of(e.type));
    const double source[2] = {e.last, e.first};
    std::uint64_t codes[2] = {0, 0};
    detail::observe_input in;
    in.tensor = dense(codes, e.type, {2});
    const detail::strided_codes from = dense(source, dtype::f64, {2});
    in.cast_source = &from;
    detail::observation out;
    REQUIRE(detail::observe_for_test(in, out));
    CHECK(out.cast.overflowing == 1);
    CHECK(out.cast.beyond_maximum == 2);
  }
}
