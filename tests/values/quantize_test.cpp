#include "numdiff/quantize.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace numdiff;

constexpr std::size_t rows = 256, columns = 512;

enum class data { gaussian, heavy_tail, log_normal };

// Gaussian; Student's t with 3 degrees of freedom; Gaussian times 2^(2N).
std::vector<float> sample(data kind) {
  std::mt19937_64 random(7);
  std::normal_distribution<double> normal;
  std::vector<float> x(rows * columns);
  for (float& v : x) {
    double z = normal(random);
    if (kind == data::heavy_tail) {
      double chi = 0;
      for (int i = 0; i < 3; ++i) {
        const double n = normal(random);
        chi += n * n;
      }
      z /= std::sqrt(chi / 3);
    }
    if (kind == data::log_normal) z *= std::exp2(2 * normal(random));
    v = static_cast<float>(z);
  }
  return x;
}

double relative_error(const std::vector<float>& x, const quantized& q) {
  double error = 0, norm = 0;
  for (std::size_t i = 0; i < q.rows; ++i) {
    for (std::size_t j = 0; j < q.columns; ++j) {
      const double exact = static_cast<double>(x[i * q.columns + j]);
      error += (q.value(i, j) - exact) * (q.value(i, j) - exact);
      norm += exact * exact;
    }
  }
  return std::sqrt(error / norm);
}

// Relative RMS errors of independent simulations with 2^20 samples, by kind of data.
struct quality {
  const char* name;
  recipe how;
  double gaussian, heavy_tail, log_normal;
  double spread;  // of the figure over samples of this size
};

TEST_CASE("quality of every recipe against published figures") {
  recipe stale = recipe_tensor(dtype::f8e4m3fn);
  const quality figures[] = {
      {"E4M3 tensor", recipe_tensor(dtype::f8e4m3fn), .0265, .0262, .0266, .1},
      {"E5M2 tensor", recipe_tensor(dtype::f8e5m2), .0526, .0519, .0513, .03},
      {"E4M3 1x128", recipe_block(dtype::f8e4m3fn, 1, 128), .0257, .0223, .0155, .08},
      {"MXFP8 floor", recipe_mx(dtype::f8e4m3fn, mx_rule::floor), .0293, .0339, .0390, .04},
      {"MXFP8 rceil", recipe_mx(dtype::f8e4m3fn, mx_rule::rceil), .0265, .0262, .0268, .08},
      {"MXFP8 even", recipe_mx(dtype::f8e4m3fn, mx_rule::even), .0276, .0294, .0321, .1},
      {"MXFP6 floor", recipe_mx(dtype::f6e2m3fn, mx_rule::floor), .0284, .0342, .0384, .04},
      {"MXFP6 rceil", recipe_mx(dtype::f6e2m3fn, mx_rule::rceil), .0283, .0347, .0385, .04},
      {"MXFP4 floor", recipe_mx(dtype::f4e2m1fn, mx_rule::floor), .115, .142, .149, .04},
      {"MXFP4 rceil", recipe_mx(dtype::f4e2m1fn, mx_rule::rceil), .115, .151, .142, .06},
      {"MXFP4 even", recipe_mx(dtype::f4e2m1fn, mx_rule::even), .112, .139, .135, .06},
      {"NVFP4", recipe_nvfp4(), .0952, .0905, .0699, .08},
  };
  const std::vector<float> gaussian = sample(data::gaussian), heavy = sample(data::heavy_tail),
                           log_normal = sample(data::log_normal);
  for (const quality& f : figures) {
    CAPTURE(std::string(f.name));
    CHECK(relative_error(gaussian, quantize(gaussian.data(), rows, columns, f.how)) ==
          doctest::Approx(f.gaussian).epsilon(0.03));
    CHECK(relative_error(heavy, quantize(heavy.data(), rows, columns, f.how)) ==
          doctest::Approx(f.heavy_tail).epsilon(f.spread));
    CHECK(relative_error(log_normal, quantize(log_normal.data(), rows, columns, f.how)) ==
          doctest::Approx(f.log_normal).epsilon(f.spread));
  }
  CHECK(relative_error(gaussian, quantize(gaussian.data(), rows, columns, recipe_integer(dtype::i8))) ==
        doctest::Approx(.0114).epsilon(.08));
  stale.given_encode_scale = 16 * encode_scale(amax_of(gaussian.data(), gaussian.size()), 448);
  CHECK(relative_error(gaussian, quantize(gaussian.data(), rows, columns, stale)) ==
        doctest::Approx(.768).epsilon(.03));
}

TEST_CASE("stochastic rounding has sqrt(2) times the error and no bias") {
  const std::vector<float> x = sample(data::gaussian);
  recipe r = recipe_tensor(dtype::f8e4m3fn);
  const double nearest = relative_error(x, quantize(x.data(), rows, columns, r));
  r.round = rounding::stochastic;
  const quantized q = quantize(x.data(), rows, columns, r);
  CHECK(relative_error(x, q) / nearest == doctest::Approx(std::sqrt(2.0)).epsilon(0.02));
  r.seed = 1;
  CHECK(quantize(x.data(), rows, columns, r).codes != q.codes);
  double bias = 0, norm = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double exact = static_cast<double>(x[i]);
    bias += (q.value(i / columns, i % columns) - exact) * (exact < 0 ? -1 : 1);
    norm += std::fabs(exact);
  }
  CHECK(std::fabs(bias / norm) < 5e-4);
}

TEST_CASE("blocks: shapes, edges, scales in place") {
  std::vector<float> x(5 * 7);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(i) - 10;
  const quantized q = quantize(x.data(), 5, 7, recipe_block(dtype::f8e4m3fn, 2, 3));
  CHECK(q.scale_rows == 3);
  CHECK(q.scale_columns == 3);
  CHECK(q.scale_codes.size() == 9 * sizeof(float));
  CHECK(q.scale_index(4, 6) == 8);
  CHECK(q.decode_scales[8] == 1 / (448.0f / 24));  // the block of element (4, 6) alone
  CHECK(q.value(4, 6) == doctest::Approx(24));
  float raw = 0;
  std::memcpy(&raw, q.scale_codes.data() + 8 * sizeof raw, sizeof raw);
  CHECK(raw == q.decode_scales[8]);
  CHECK(quantize(x.data(), 5, 7, recipe_row(dtype::f8e4m3fn)).decode_scales.size() == 5);
  CHECK(quantize(x.data(), 5, 7, recipe_column(dtype::f8e4m3fn)).decode_scales.size() == 7);
  CHECK(quantize(x.data(), 5, 7, recipe_tensor(dtype::f8e5m2)).decode_scales.size() == 1);
  CHECK(quantize(x.data(), 5, 7, columnwise(recipe_mx(dtype::f8e4m3fn, mx_rule::floor))).scale_columns == 7);
  CHECK(quantize(x.data(), 0, 7, recipe_tensor(dtype::f8e5m2)).codes.empty());
  std::vector<float> back(x.size());
  dequantize(q, back.data());
  CHECK(back[34] == static_cast<float>(q.value(4, 6)));
}

TEST_CASE("power-of-two scales round the encode scale down") {
  const float x[4] = {3, -17, 0.5f, 1};
  const quantized q = quantize(x, 1, 4, recipe_block(dtype::f8e4m3fn, 1, 128, true));
  CHECK(q.decode_scales[0] == 1.0f / 16);  // 448 / 17 = 26.4
  CHECK(q.codes[1] == encode(dtype::f8e4m3fn, -17.0 * 16));
}

TEST_CASE("floors of amax") {
  const float x[2] = {1e-6f, 0};
  recipe r = recipe_block(dtype::f8e4m3fn, 1, 128);
  r.smallest_amax = 1e-4f;
  CHECK(quantize(x, 1, 2, r).decode_scales[0] == 1 / (448 / 1e-4f));
}

TEST_CASE("zeros, NaN and infinity in a block") {
  const float nan = std::numeric_limits<float>::quiet_NaN(), inf = HUGE_VALF;
  std::vector<float> x(96, 1.0f);
  for (std::size_t i = 0; i < 32; ++i) x[i] = 0;
  x[40] = nan;
  x[70] = inf;
  recipe r = recipe_mx(dtype::f8e4m3fn, mx_rule::floor);
  const quantized spared = quantize(x.data(), 1, 96, r);
  CHECK(spared.scale_codes == std::vector<std::uint8_t>{0, 127 - 8, 0xfe});
  CHECK(spared.codes[3] == 0);
  CHECK(std::isnan(spared.value(0, 40)));
  CHECK(spared.value(0, 41) == 1);
  CHECK(spared.codes[70] == 0x7e);
  r.nonfinite = nonfinite_scale::poisoned;
  const quantized poisoned = quantize(x.data(), 1, 96, r);
  CHECK(poisoned.scale_codes == std::vector<std::uint8_t>{0, 0xff, 0xff});
  int nans = 0;
  for (std::size_t j = 0; j < 96; ++j) nans += std::isnan(poisoned.value(0, j));
  CHECK(nans == 64);

  // the stacks' current scaling: 1 when amax is infinite, and then finite values clip
  const float y[3] = {500, inf, 2};
  const quantized current = quantize(y, 1, 3, recipe_tensor(dtype::f8e4m3fn));
  CHECK(current.decode_scales[0] == 1);
  CHECK(current.value(0, 0) == 448);
  CHECK(current.value(0, 2) == 2);
  const float zeros[3] = {};
  CHECK(quantize(zeros, 1, 3, recipe_tensor(dtype::f8e4m3fn)).decode_scales[0] == 1);
  CHECK(quantize(zeros, 1, 3, recipe_nvfp4()).value(0, 1) == 0);
}

TEST_CASE("MX blocks clip by the floor rule only") {
  const std::vector<float> x = sample(data::gaussian);
  for (const mx_rule rule : {mx_rule::floor, mx_rule::rceil, mx_rule::ceiling}) {
    const quantized q = quantize(x.data(), rows, columns, recipe_mx(dtype::f8e4m3fn, rule));
    long clipped = 0;
    for (std::size_t block = 0; block < q.decode_scales.size(); ++block) {
      const float amax = amax_of(x.data() + block * 32, 32);
      clipped += static_cast<double>(amax) > 448 * static_cast<double>(q.decode_scales[block]);
    }
    const double share = static_cast<double>(clipped) / static_cast<double>(q.decode_scales.size());
    if (rule == mx_rule::floor) {
      CHECK(share > 0.15);
      CHECK(share < 0.22);
    } else {
      CHECK(clipped == 0);
    }
  }
}

TEST_CASE("NVFP4: scales of two levels, lost blocks, 4 over 6") {
  std::vector<float> x(32, 1e-6f);
  x[0] = 1;
  x[21] = 0;
  const quantized q = quantize(x.data(), 1, 32, recipe_nvfp4());
  CHECK(q.global_decode_scale == 1 / 2688.0f);
  CHECK(q.scale_codes[0] == 0x7e);
  CHECK(q.scale_codes[1] == 0);  // amax / 458752 is above 1e-6
  CHECK(q.value(0, 20) == 0);
  CHECK(q.codes[20] == 0x7);  // times the largest float
  CHECK(q.codes[21] == 0);
  recipe clamped = recipe_nvfp4();
  clamped.normal_block_scale = true;
  CHECK(quantize(x.data(), 1, 32, clamped).scale_codes[1] == 0x08);

  const std::vector<float> g = sample(data::gaussian);
  recipe four = recipe_nvfp4();
  four.four_over_six = true;
  CHECK(relative_error(g, quantize(g.data(), rows, columns, four)) <
        0.95 * relative_error(g, quantize(g.data(), rows, columns, recipe_nvfp4())));
  CHECK(quantize(g.data(), rows, columns, recipe_nvfp4(16)).scale_rows == rows / 16);
}

TEST_CASE("integers, symmetric and with a zero point") {
  const float x[4] = {-2, 0, 1, 6};
  const quantized s = quantize(x, 1, 4, recipe_integer(dtype::i8));
  CHECK(s.decode_scales[0] == 6.0f / 127);
  CHECK(s.codes[3] == 127);
  CHECK(s.codes[0] == static_cast<std::uint8_t>(-42));
  const quantized n = quantize(x, 1, 4, recipe_integer(dtype::i4));
  CHECK(n.codes[3] == 7);
  CHECK(n.codes[0] == 0xe);  // -2 of -2.33
  const quantized z = quantize(x, 1, 4, recipe_integer(dtype::u8, true));
  CHECK(z.decode_scales[0] == 8.0f / 255);
  CHECK(z.zero_points[0] == 64);
  CHECK(z.value(0, 1) == 0);
  CHECK(z.codes[0] == 0);
  CHECK(z.codes[3] == 255);
  const quantized i = quantize(x, 1, 4, recipe_integer(dtype::i8, true));
  CHECK(i.zero_points[0] == -64);
  CHECK(i.codes[0] == 0x80);
  CHECK(i.codes[3] == 0x7f);
  const float minus[2] = {-HUGE_VALF, 3};
  const quantized clipped = quantize(minus, 1, 2, recipe_integer(dtype::i8));
  CHECK(clipped.codes[0] == 0x81);
  const float tiny[1] = {1e-45f};  // amax / 127 underflows
  CHECK(quantize(tiny, 1, 1, recipe_integer(dtype::i8)).decode_scales[0] == 0x1p-149f);
  const float zeros[2] = {};
  CHECK(quantize(zeros, 1, 2, recipe_integer(dtype::i8, true)).value(0, 0) == 0);
}

}  // namespace
