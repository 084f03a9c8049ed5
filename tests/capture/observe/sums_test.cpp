// Sums where double alone would lose them: extreme FP64 data, large integers; what is left out of them.
#include "capture/observe/tensors.hpp"

using namespace tensors;

namespace {

template <class T>
detail::observe_input of(const std::vector<T>& values, dtype t) {
  detail::observe_input in;
  in.tensor = dense(values.data(), t, {static_cast<std::int64_t>(values.size())});
  return in;
}

template <class T>
detail::capture_row row_of(const std::vector<T>& values, dtype t) {
  detail::observation out;
  REQUIRE(detail::observe_for_test(of(values, t), out));
  return out.row;
}

}  // namespace

TEST_CASE("doubles whose squares and fourth powers overflow or vanish") {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal;
  for (int exponent : {-1070, -1022, -600, -300, -241, -240, -200, 0, 200, 239, 240, 400, 1000}) {
    CAPTURE(exponent);
    std::vector<double> x(3000);
    for (auto& v : x) v = std::ldexp(normal(random), exponent);
    if (exponent > -1000) check(of(x, dtype::f64));
    const detail::capture_row row = row_of(x, dtype::f64);
    CHECK(std::isfinite(row.sum_4));
    CHECK(row.sum_4 > 0);
    CHECK(row.sum_sq > 0);
    const int octave = std::ilogb(row.amax);
    CHECK(row.sum_exponent == (octave >= -240 && octave < 240 ? 0 : octave));
  }
}

TEST_CASE("doubles that grow from tiny to huge") {
  std::vector<double> x;
  for (int i = 0; i < 4000; ++i) x.push_back(std::ldexp(1 + i % 7, -1060 + i / 2));
  const detail::capture_row row = row_of(x, dtype::f64);
  CHECK(row.sum_exponent == std::ilogb(row.amax));
  oracle::wide sum = 0, fourth = 0;
  for (double v : x) {
    const oracle::wide w = ldexp(oracle::wide(v), -row.sum_exponent);
    sum += w;
    fourth += w * w * w * w;
  }
  CHECK(close(row.sum, sum, sum));
  CHECK(close(row.sum_4, fourth, fourth));
}

TEST_CASE("integers are summed exactly") {
  std::vector<std::int64_t> x;
  for (int i = 0; i < 5000; ++i) {
    x.push_back(std::numeric_limits<std::int64_t>::max());
    x.push_back(-std::numeric_limits<std::int64_t>::max() + (i == 7 ? 3 : 0));
  }
  x.push_back(std::numeric_limits<std::int64_t>::min());
  x.push_back(std::numeric_limits<std::int64_t>::max());
  const detail::capture_row row = row_of(x, dtype::i64);
  CHECK(row.sum == 2);
  CHECK(row.minimum == -9223372036854775808.0);
  CHECK(row.maximum_negative == 5000);
  CHECK(row.maximum_positive == 5001);
  check(of(x, dtype::i64));
  std::vector<std::uint64_t> u(2000, std::numeric_limits<std::uint64_t>::max());
  CHECK(row_of(u, dtype::u64).sum == 2000 * 18446744073709551616.0);
  check(of(u, dtype::u64));
  std::vector<std::int32_t> i32(3000, std::numeric_limits<std::int32_t>::min());
  i32.push_back(5);
  CHECK(row_of(i32, dtype::i32).sum == 3000 * -2147483648.0 + 5);
  check(of(i32, dtype::i32));
}

TEST_CASE("octaves of integers that double would round up") {
  const std::vector<std::int64_t> x{(std::int64_t{1} << 62) - 1, -((std::int64_t{1} << 60) - 1), 3};
  detail::observation out;
  REQUIRE(detail::observe_for_test(of(x, dtype::i64), out));
  CHECK(decoded(out.histogram) == std::map<int, std::uint64_t>{{61, 1}, {59, 1}, {1, 1}});
}

TEST_CASE("fill values and non-finite elements are counted and left out of sums and sketch") {
  constexpr float inf = std::numeric_limits<float>::infinity();
  constexpr float fill = -std::numeric_limits<float>::max();
  std::vector<float> x(1000, 0.5F), y(1000, 0.5F);
  x[3] = fill;
  x[400] = inf;
  x[401] = -inf;
  x[700] = std::numeric_limits<float>::quiet_NaN();
  y[3] = y[400] = y[401] = y[700] = 0;
  detail::observation a, b;
  REQUIRE(detail::observe_for_test(of(x, dtype::f32), a));
  REQUIRE(detail::observe_for_test(of(y, dtype::f32), b));
  CHECK(std::memcmp(a.sketch, b.sketch, sizeof a.sketch) == 0);
  CHECK(a.row.sum == 498);
  CHECK(a.row.maximum_negative == 1);
  CHECK(a.row.positive_infinity == 1);
  CHECK(a.row.negative_infinity == 1);
  CHECK(a.row.nan == 1);
  CHECK(a.row.first_nonfinite == 400);
  CHECK(a.row.amax == -fill);
  CHECK(a.row.minimum == fill);
  CHECK(a.row.maximum == 0.5);
}

TEST_CASE("nothing finite") {
  const std::vector<float> x(20, std::numeric_limits<float>::quiet_NaN());
  const detail::capture_row row = row_of(x, dtype::f32);
  CHECK(row.nan == 20);
  CHECK(row.amax == 0);
  CHECK(row.smallest == 0);
  CHECK(std::isnan(row.minimum));
  CHECK(std::isnan(row.maximum));
  CHECK(row.sum_4 == 0);
}

TEST_CASE("other fields of the row are left alone, an unknown dtype is refused") {
  const std::vector<float> x(20, 1.0F);
  detail::observation out;
  out.row.seq = 77;
  out.row.name = 5;
  REQUIRE(detail::observe_for_test(of(x, dtype::f32), out));
  CHECK(out.row.seq == 77);
  CHECK(out.row.name == 5);
  CHECK_FALSE(detail::observe_for_test(of(x, dtype::unknown), out));
  CHECK_FALSE(detail::observe_for_test(of(x, static_cast<dtype>(999)), out));
}
