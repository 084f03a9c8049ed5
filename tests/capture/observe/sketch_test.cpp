// The sketch: published vectors, additivity over shards, and how well it estimates distances.
#include "model/sketch.hpp"

#include <algorithm>
#include <functional>

#include "capture/observe/tensors.hpp"

using namespace tensors;
using numdiff::model::sketch;

namespace {

sketch observed(const detail::observe_input& in) {
  detail::observation out;
  REQUIRE(detail::observe_for_test(in, out));
  sketch s;
  std::copy(std::begin(out.sketch), std::end(out.sketch), s.begin());
  return s;
}

sketch sketch_of(const std::vector<double>& x) {
  detail::observe_input in;
  in.tensor = dense(x.data(), dtype::f64, {static_cast<std::int64_t>(x.size())});
  return observed(in);
}

double exact_norm(const std::vector<double>& x) {
  double sum = 0;
  for (double v : x) sum += v * v;
  return std::sqrt(sum);
}

// 5 % and 95 % of estimate / truth over random errors made by `fill`.
std::pair<double, double> spread_of(int trials, std::size_t size,
                                    const std::function<void(std::mt19937_64&, std::vector<double>&)>& fill) {
  std::mt19937_64 random(20);
  std::vector<double> ratios;
  std::vector<double> x(size);
  for (int t = 0; t < trials; ++t) {
    std::fill(x.begin(), x.end(), 0.0);
    fill(random, x);
    ratios.push_back(numdiff::model::norm(sketch_of(x)) / exact_norm(x));
  }
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](double q) {
    return ratios[static_cast<std::size_t>(q * static_cast<double>(ratios.size()))];
  };
  return {at(0.05), at(0.95)};
}

}  // namespace

TEST_CASE("published vectors") {
  CHECK(detail::sketch_rotation(0) == 22);
  CHECK(detail::sketch_rotation(1) == 0);
  CHECK(detail::sketch_rotation(1000000) == 168);
  CHECK(detail::sketch_signs(0) == 0x840db14b61075156U);
  CHECK(detail::sketch_signs(1) == 0x0748560e0930a75dU);
  CHECK(detail::sketch_signs(1000000) == 0xe7947dd073abfcf0U);
  std::vector<double> ramp(1000);
  for (std::size_t i = 0; i < ramp.size(); ++i) ramp[i] = static_cast<double>(i);
  const sketch s = sketch_of(ramp);
  CHECK(s[0] == -1024);
  CHECK(s[1] == 2008);
  CHECK(s[2] == 468);
  CHECK(s[255] == -2256);
  double squares = 0;
  for (double b : s) squares += b * b;
  CHECK(squares == 347173212);
}

TEST_CASE("estimate against truth, 5 % to 95 %, whatever the shape of the error") {
  // A matrix of 1024 columns; 300 trials put these quantiles within about 0.012 of 0.927 and 1.073.
  constexpr std::size_t rows = 96;
  constexpr std::size_t columns = 1024;
  std::normal_distribution<double> normal;
  const auto check_spread = [&](const char* name, int trials, auto&& fill) {
    CAPTURE(name);
    const std::pair<double, double> spread = spread_of(trials, rows * columns, fill);
    CAPTURE(spread.first);
    CAPTURE(spread.second);
    CHECK(spread.first > 0.90);
    CHECK(spread.second < 1.10);
  };
  check_spread("diffuse", 200, [&](auto& random, auto& x) {
    for (auto& v : x) v = normal(random);
  });
  check_spread("one row", 300, [&](auto& random, auto& x) {
    const std::size_t row = random() % rows;
    for (std::size_t j = 0; j < columns; ++j) x[row * columns + j] = normal(random);
  });
  check_spread("one column", 300, [&](auto& random, auto& x) {
    const std::size_t column = random() % columns;
    for (std::size_t i = 0; i < rows; ++i) x[i * columns + column] = 1 + 0.1 * normal(random);
  });
  check_spread("one head", 300, [&](auto& random, auto& x) {
    const std::size_t head = 64 * (random() % (columns / 64));
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < 64; ++j) x[i * columns + head + j] = normal(random);
    }
  });
  check_spread("constant", 1, [&](auto&, auto& x) { std::fill(x.begin(), x.end(), 1.0); });
  const auto [low, high] =
      spread_of(50, rows * columns, [&](auto& random, auto& x) { x[random() % x.size()] = -3; });
  CHECK(low == doctest::Approx(1));
  CHECK(high == doctest::Approx(1));
}

TEST_CASE("squares are estimated without bias") {
  std::mt19937_64 random(5);
  std::normal_distribution<double> normal;
  double mean = 0;
  constexpr int trials = 600;
  std::vector<double> x(8192);
  for (int t = 0; t < trials; ++t) {
    for (auto& v : x) v = normal(random);
    const double r = numdiff::model::norm(sketch_of(x)) / exact_norm(x);
    mean += r * r / trials;
  }
  CHECK(std::fabs(mean - 1) < 5 * std::sqrt(2.0 / 256 / trials));
}

TEST_CASE("sketches of shards add up to rounding") {
  std::mt19937_64 random(6);
  std::normal_distribution<double> normal;
  std::vector<double> x(96 * 320);
  for (auto& v : x) v = normal(random);
  const sketch whole = sketch_of(x);
  sketch columns{};
  for (std::int64_t begin = 0; begin < 320; begin += 40) {
    detail::observe_input part;
    part.tensor = dense(x.data() + begin, dtype::f64, {96, 40});
    part.tensor.stride[0] = 320;
    part.map.is = detail::global_map::kind::box;
    part.map.begin[1] = begin;
    part.map.global_extent[1] = 320;
    numdiff::model::add(columns, observed(part));
  }
  sketch rows{};
  for (std::int64_t begin = 0; begin < 96; begin += 12) {
    detail::observe_input part;
    part.tensor = dense(x.data() + begin * 320, dtype::f64, {12, 320});
    part.map.is = detail::global_map::kind::box;
    part.map.begin[0] = begin;
    part.map.global_extent[0] = 96;
    numdiff::model::add(rows, observed(part));
  }
  CHECK(numdiff::model::distance(whole, columns) < 1e-13 * exact_norm(x));
  CHECK(numdiff::model::distance(whole, rows) < 1e-13 * exact_norm(x));
  CHECK(numdiff::model::distance(whole, sketch{}) == doctest::Approx(exact_norm(x)).epsilon(0.2));
}

TEST_CASE("partial sums add up") {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<double> a(5000), b(5000), sum(5000);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = normal(random);
    b[i] = normal(random);
    sum[i] = a[i] + b[i];
  }
  sketch s = sketch_of(a);
  numdiff::model::add(s, sketch_of(b));
  CHECK(numdiff::model::distance(s, sketch_of(sum)) < 1e-13 * exact_norm(sum));
}

TEST_CASE("up to 256 elements norms and products are exact") {
  std::vector<double> x(256), y(256);
  for (std::size_t i = 0; i < 256; ++i) {
    x[i] = static_cast<double>(i) - 100;
    y[i] = 3 * x[i] + (i % 2 == 0 ? 1 : -1);
  }
  const sketch a = sketch_of(x), b = sketch_of(y);
  double xy = 0;
  for (std::size_t i = 0; i < 256; ++i) xy += x[i] * y[i];
  CHECK(numdiff::model::norm(a) == doctest::Approx(exact_norm(x)).epsilon(1e-14));
  CHECK(numdiff::model::dot(a, b) == doctest::Approx(xy).epsilon(1e-14));
  CHECK(numdiff::model::cosine(a, b) == doctest::Approx(xy / exact_norm(x) / exact_norm(y)).epsilon(1e-14));
  const numdiff::model::common_factor f = numdiff::model::best_factor(a, b);
  CHECK(f.factor == doctest::Approx(xy / (exact_norm(x) * exact_norm(x))).epsilon(1e-14));
  CHECK(f.residual == doctest::Approx(16).epsilon(0.01));
}

TEST_CASE("extreme magnitudes and zero") {
  std::vector<double> huge(300, 1e300), tiny(300, 1e-300);
  CHECK(numdiff::model::norm(sketch_of(huge)) == doctest::Approx(1e300 * std::sqrt(300.0)).epsilon(0.2));
  CHECK(numdiff::model::norm(sketch_of(tiny)) == doctest::Approx(1e-300 * std::sqrt(300.0)).epsilon(0.2));
  CHECK(numdiff::model::norm(sketch{}) == 0);
  CHECK(std::isnan(numdiff::model::cosine(sketch{}, sketch_of(huge))));
  CHECK(std::isnan(numdiff::model::best_factor(sketch{}, sketch_of(huge)).factor));
}
