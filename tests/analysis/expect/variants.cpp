// Faults of any op: kinds, formats and sizes at random, each fault planted and its honest twin beside it.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>

#include "analysis/expect/honest.hpp"
#include "analysis/expect/judged.hpp"

using namespace numdiff;
using namespace numdiff::test;

namespace {

double through(dtype t, double x, rounding mode = rounding::nearest_even) {
  return decode(t, encode(t, x, cast_rule{mode, overflow::to_infinity}));
}

float summed(const values& x, std::size_t first, std::size_t n) {
  float s = 0;
  for (std::size_t i = first; i < first + n; ++i) s += static_cast<float>(x[i]);
  return s;
}

double summed_in(dtype t, const values& x, std::size_t first, std::size_t n, std::size_t lanes = 1) {
  values lane(lanes, 0.0);
  for (std::size_t i = 0; i < n; ++i) lane[i % lanes] = add_rounded(t, lane[i % lanes], x[first + i]);
  double s = 0;
  for (const double v : lane) s = add_rounded(t, s, v);
  return s;
}

constexpr std::int64_t rows = 24;

}  // namespace

TEST_CASE("sums of fewer bits than declared, in kinds that add up") {
  sampler random(1);
  for (const dtype low : {dtype::bf16, dtype::f16}) {
    for (const std::int64_t n : {96, 300}) {
      const auto width = static_cast<std::size_t>(n);
      for (const std::size_t lanes : {std::size_t{1}, std::size_t{8}}) {
        const tensor x = stored(low, {rows, n}, random.draw(rows * width, spread_of::positive));
        values means(rows), honest(rows);
        for (std::size_t r = 0; r < rows; ++r) {
          means[r] = summed_in(low, x.values, r * width, width, lanes) / static_cast<double>(n);
          honest[r] = summed(x.values, r * width, width) / static_cast<float>(n);
        }
        execution e("mean", low, dtype::f32, low);
        e.read(x).write(stored(low, {rows, 1}, means));
        blames(e, "low-precision-accumulate");
        e.output() = stored(low, {rows, 1}, honest);
        accepts(e);
      }
    }
  }
  // A softmax whose normaliser is summed in bf16.
  const tensor x = stored(dtype::bf16, {rows, 256}, random.draw(rows * 256, spread_of::normal));
  values y(x.values.size());
  for (std::size_t r = 0; r < rows; ++r) {
    const double top = *std::max_element(x.values.begin() + static_cast<std::ptrdiff_t>(r * 256),
                                         x.values.begin() + static_cast<std::ptrdiff_t>((r + 1) * 256));
    double s = 0;
    for (std::size_t i = 0; i < 256; ++i)
      s = add_rounded(dtype::bf16, s, std::exp(x.values[r * 256 + i] - top));
    for (std::size_t i = 0; i < 256; ++i) y[r * 256 + i] = std::exp(x.values[r * 256 + i] - top) / s;
  }
  execution e("softmax", dtype::bf16, dtype::f32, dtype::bf16);
  e.read(x).write(stored(dtype::bf16, {rows, 256}, y));
  blames(e, "low-precision-accumulate");
  e.output() = stored(dtype::bf16, {rows, 256}, softmax_of<float>(x.values, 256, 1.0F));
  accepts(e);
}

TEST_CASE("parts of a sum that are rounded before they are added") {
  sampler random(2);
  for (const dtype low : {dtype::bf16, dtype::f16}) {
    for (const std::size_t parts : {std::size_t{2}, std::size_t{8}}) {
      constexpr std::size_t n = 512, width = 16;
      const tensor x = stored(low, {n, width}, random.draw(n * width, spread_of::positive));
      values bad(width, 0.0), good(width, 0.0);
      for (std::size_t j = 0; j < width; ++j) {
        for (std::size_t p = 0; p < parts; ++p) {
          double part = 0;
          for (std::size_t i = p * n / parts; i < (p + 1) * n / parts; ++i) part += x.values[i * width + j];
          bad[j] += through(low, part);
        }
        float s = 0;
        for (std::size_t i = 0; i < n; ++i) s += static_cast<float>(x.values[i * width + j]);
        good[j] = s;
      }
      execution e("sum", low, dtype::f32, dtype::f32);
      e.read(x).write(stored(dtype::f32, {width}, bad));
      blames(e, "low-precision-partials");
      e.output() = stored(dtype::f32, {width}, good);
      accepts(e);
    }
  }
}

TEST_CASE("inputs of fewer bits than declared, in kinds that are no products") {
  sampler random(3);
  for (const char* kind : {"multiply", "swiglu", "silu", "softmax", "rms_norm", "layer_norm", "gelu"}) {
    for (const dtype low : {dtype::tf32, dtype::bf16}) {
      accepts(honest(kind, random, {dtype::f32, dtype::f32, dtype::f32}, spread_of::normal, 12, 40));
      // Computed honestly from narrow inputs; told with wider ones that round to them.
      const execution narrow = honest(kind, random, {low, dtype::f32, dtype::f32}, spread_of::normal, 12, 40);
      const op_instance computed = narrow.instance();
      execution told(kind, dtype::f32, dtype::f32, dtype::f32);
      for (const auto& r : computed.reads) {
        tensor wide = r.value;
        wide.type = dtype::f32;
        for (double& v : wide.values) {
          const double spacing = v != 0 ? std::ldexp(1.0, std::ilogb(v) - (low == dtype::tf32 ? 10 : 7)) : 0;
          v = through(dtype::f32, v + 0.24 * spacing * std::tanh(random.normal()));
        }
        told.read(wide, static_cast<role>(r.row->role));
      }
      for (const auto& [name, value] : computed.scalars) told.scalar(name, value);
      told.write(computed.writes[0].value);
      INFO(kind << " " << name_of(low));
      blames(told, "reduced-input-precision");
    }
  }
}

TEST_CASE("a step inside the op that is rounded") {
  sampler random(4);
  for (const dtype low : {dtype::bf16, dtype::f16}) {
    constexpr std::size_t n = 16 * 48;
    const extents shape = {16, 48};
    const tensor a = stored(low, shape, random.draw(n, spread_of::normal)),
                 b = stored(low, shape, random.draw(n, spread_of::normal)),
                 c = stored(low, shape, random.draw(n, spread_of::normal));
    values gated(n), added(n);
    for (std::size_t i = 0; i < n; ++i) {
      gated[i] = through(low, a.values[i] / (1 + std::exp(-a.values[i]))) * b.values[i];
      added[i] = through(low, a.values[i] + b.values[i]) + c.values[i];
    }
    execution gate("swiglu", low, dtype::f32, low), sum("add", low, dtype::f32, low);
    blames(gate.read(a).read(b).write(stored(low, shape, gated)), "rounding-order");
    blames(sum.read(a).read(b).read(c).write(stored(low, shape, added)), "rounding-order");
    for (std::size_t i = 0; i < n; ++i) {
      gated[i] = a.values[i] / (1 + std::exp(-a.values[i])) * b.values[i];
      added[i] = a.values[i] + b.values[i] + c.values[i];
    }
    gate.output() = stored(low, shape, gated);
    sum.output() = stored(low, shape, added);
    accepts(gate);
    accepts(sum);

    // The normalised row is stored before it meets the weight.
    const tensor weight = stored(low, {48}, random.draw(48, spread_of::positive));
    values y(n);
    for (std::size_t r = 0; r < 16; ++r) {
      double squares = 0;
      for (std::size_t i = 0; i < 48; ++i) squares += a.values[r * 48 + i] * a.values[r * 48 + i];
      const double inverse = 1 / std::sqrt(squares / 48 + 1e-6);
      for (std::size_t i = 0; i < 48; ++i)
        y[r * 48 + i] = through(low, a.values[r * 48 + i] * inverse) * weight.values[i];
    }
    execution norm("rms_norm", low, dtype::f32, low);
    norm.read(a).read(weight, role::weight).scalar("eps", 1e-6).write(stored(low, shape, y));
    blames(norm, "rounding-order");
    norm.output() = stored(low, shape, rms_norm_of<float>(a.values, weight.values, 1e-6F));
    accepts(norm);
  }
}

TEST_CASE("results that pass through a third format") {
  sampler random(5);
  const tensor x = stored(dtype::f32, {40, 64}, random.draw(40 * 64, spread_of::normal));
  const struct {
    dtype third, out;
  } ways[] = {{dtype::bf16, dtype::f8e4m3fn}, {dtype::f16, dtype::f8e5m2}, {dtype::bf16, dtype::f16},
              {dtype::f8e4m3fn, dtype::bf16}, {dtype::bf16, dtype::f32},   {dtype::tf32, dtype::bf16}};
  for (const auto& way : ways) {
    INFO(name_of(way.third) << " to " << name_of(way.out));
    values y = x.values;
    for (double& v : y) v = through(way.third, v);
    execution e(way.out == dtype::f32 ? "copy" : "cast", dtype::f32, dtype::f32, way.out);
    e.read(x).write(stored(way.out, {40, 64}, y));
    blames(e, "double-rounding");
    e.output() = stored(way.out, {40, 64}, x.values);
    accepts(e);
  }
  // Cut on the way, it is a cut.
  values y = x.values;
  for (double& v : y) v = through(dtype::bf16, 3 * v, rounding::toward_zero);
  execution e("scale", dtype::f32, dtype::f32, dtype::f32);
  blames(e.read(x).scalar("factor", 3).write(stored(dtype::f32, {40, 64}, y)), "truncating-cast");
}

TEST_CASE("constants of fewer bits than told") {
  sampler random(6);
  const tensor x = stored(dtype::bf16, {rows, 64}, random.draw(rows * 64, spread_of::normal));
  const double scale = 0.1234567;
  for (const dtype low : {dtype::bf16, dtype::f16}) {
    execution e("softmax", dtype::bf16, dtype::f32, dtype::f32);
    e.read(x).scalar("scale", scale);
    e.write(stored(dtype::f32, {rows, 64},
                   softmax_of<float>(x.values, 64, static_cast<float>(through(low, scale)))));
    blames(e, "constant-precision");
    e.output() = stored(dtype::f32, {rows, 64}, softmax_of<float>(x.values, 64, static_cast<float>(scale)));
    accepts(e);
    execution s("scale", dtype::bf16, dtype::f32, dtype::f32);
    values y = x.values;
    for (double& v : y) v *= through(low, scale);
    blames(s.read(x).scalar("factor", scale).write(stored(dtype::f32, {rows, 64}, y)), "constant-precision");
  }
  execution e("softmax", dtype::bf16, dtype::f32, dtype::bf16);
  e.read(x).scalar("scale", scale);
  e.write(stored(dtype::bf16, {rows, 64}, softmax_of<float>(x.values, 64, 1.0F)));
  blames(e, "factor-missing");
  e.output() =
      stored(dtype::bf16, {rows, 64}, softmax_of<float>(x.values, 64, static_cast<float>(scale * scale)));
  blames(e, "factor-repeated");
}

TEST_CASE("random rounding is told by its odds") {
  sampler random(7);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (const dtype t : {dtype::bf16, dtype::f16, dtype::f8e4m3fn, dtype::f8e5m2}) {
    const tensor x = stored(dtype::f32, {32, 40}, random.draw(32 * 40, spread_of::normal));
    tensor y = stored(t, {32, 40}, x.values);
    tensor noisy = y;
    for (std::size_t i = 0; i < x.values.size(); ++i) {
      const double low = through(t, x.values[i], rounding::toward_zero);
      double high = low;
      for (double step = std::fabs(x.values[i]) * 0x1p-12 + 0x1p-30; high == low; step *= 2)
        high = through(t, x.values[i] + std::copysign(step, x.values[i]));
      const double share = high != low ? (x.values[i] - low) / (high - low) : 0;
      y.values[i] = uniform(random.engine()) < share ? high : low;
      noisy.values[i] = uniform(random.engine()) < 0.5 ? high : low;  // whatever the share
    }
    execution e("cast", dtype::f32, dtype::f32, t);
    e.read(x).write(y);
    blames(e, "stochastic-rounding");
    e.row().output_rounding = static_cast<std::uint16_t>(rounding::stochastic);
    accepts(e);
    e.row().output_rounding = 0;
    e.output() = noisy;
    blames(e, "");
  }
}

TEST_CASE("codes of a format of the same name") {
  sampler random(8);
  const struct {
    dtype told, used;
  } pairs[] = {{dtype::f8e4m3fn, dtype::f8e4m3fnuz},
               {dtype::f8e4m3fnuz, dtype::f8e4m3fn},
               {dtype::f8e5m2, dtype::f8e5m2fnuz},
               {dtype::f8e5m2fnuz, dtype::f8e5m2}};
  for (const auto& p : pairs) {
    INFO(name_of(p.told) << " written as " << name_of(p.used));
    const tensor x = stored(dtype::f32, {20, 30}, random.draw(600, spread_of::normal));
    tensor y = stored(p.used, {20, 30}, x.values);
    y.type = p.told;
    decode(p.told, y.codes.data(), y.values.data(), y.values.size());
    execution e("cast", dtype::f32, dtype::f32, p.told);
    e.read(x).write(y);
    blames(e, "cast-convention");
    e.output() = stored(p.told, {20, 30}, x.values);
    accepts(e);
  }
  // To a whole number: cut as C does, or rounded.
  values wide = random.draw(400, spread_of::normal), cut;
  for (double& v : wide) cut.push_back(std::trunc(v = through(dtype::f32, 30 * v)));
  execution e("cast", dtype::f32, dtype::f32, dtype::i32);
  e.read(stored(dtype::f32, {400}, wide)).write(stored(dtype::i32, {400}, cut));
  blames(e, "cast-convention");
  e.output() = stored(dtype::i32, {400}, wide);
  accepts(e);
}

TEST_CASE("averages over the wrong count or with the wrong weights") {
  sampler random(9);
  const tensor x = stored(dtype::f32, {rows, 50}, random.draw(rows * 50, spread_of::positive));
  const auto mean_over = [&](double count) {
    values y(rows);
    for (std::size_t r = 0; r < rows; ++r) y[r] = static_cast<double>(summed(x.values, r * 50, 50)) / count;
    execution e("mean", dtype::f32, dtype::f32, dtype::f32);
    e.read(x).write(stored(dtype::f32, {rows, 1}, y));
    return e;
  };
  accepts(mean_over(50));
  blames(mean_over(49), "wrong-divisor");
  blames(mean_over(64), "wrong-divisor");
  blames(mean_over(1), "factor-missing");
  blames(mean_over(2500), "factor-repeated");

  values weights(50), good(rows), bad(rows);
  for (double& w : weights) w = static_cast<double>(random.between(1, 9));
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t r = 0; r < rows; ++r) {
    float s = 0;
    for (std::size_t i = 0; i < 50; ++i)
      s += static_cast<float>(weights[i]) * static_cast<float>(x.values[r * 50 + i]);
    good[r] = static_cast<double>(s) / all;
    bad[r] = static_cast<double>(summed(x.values, r * 50, 50)) / 50;
  }
  execution e("mean", dtype::f32, dtype::f32, dtype::f32);
  e.read(x).read(stored(dtype::f32, {50}, weights)).write(stored(dtype::f32, {rows, 1}, good));
  accepts(e);
  e.output() = stored(dtype::f32, {rows, 1}, bad);
  blames(e, "wrong-weighting");
}

TEST_CASE("products in other orders and at other cuts") {
  sampler random(10);
  constexpr std::size_t m = 6, n = 20, k = 320;
  const tensor a = stored(dtype::bf16, {m, k}, random.draw(m * k, spread_of::normal)),
               b = stored(dtype::bf16, {k, n}, random.draw(k * n, spread_of::normal));
  const auto product_of = [&](const values& c, dtype out) {
    execution e("matmul", dtype::bf16, dtype::f32, out);
    e.read(a).read(b, role::weight).write(stored(out, {m, n}, c));
    return e;
  };
  for (const std::size_t lanes : {std::size_t{4}, std::size_t{16}}) {
    blames(product_of(product({dtype::bf16, lanes}, a, b, m, n, k), dtype::bf16), "low-precision-accumulate");
    accepts(product_of(product({dtype::f32, lanes}, a, b, m, n, k), dtype::bf16));
  }
  // An order that nobody guesses: told by the grid of an fp32 result.
  blames(product_of(product({dtype::bf16, 7, true}, a, b, m, n, k), dtype::f32), "low-precision-accumulate");
  accepts(product_of(product({dtype::f32, 7, true}, a, b, m, n, k), dtype::f32));

  const tensor x = stored(dtype::f8e4m3fn, {m, k}, random.draw(m * k, spread_of::positive)),
               w = stored(dtype::f8e5m2, {k, n}, random.draw(k * n, spread_of::positive));
  for (const fused_dot_model model : {fused_dot_model{8, 12, 12}, fused_dot_model{64, 14, 14}}) {
    values c(m * n);
    for (std::size_t i = 0; i < m * n; ++i) {
      c[i] = fused_dot(model, {x.type, x.values.data() + i / n * k, 1},
                       {w.type, w.values.data() + i % n, static_cast<std::ptrdiff_t>(n)}, k);
    }
    // In bf16 a cut at 14 bits looks like other faults: 120 elements do not tell.
    const dtype out = model.fraction_bits > 12 ? dtype::f32 : dtype::bf16;
    execution e("matmul", x.type, dtype::f32, out);
    e.read(x).read(w, role::weight).write(stored(out, {m, n}, c));
    blames(e, "narrow-accumulator");
  }
}

TEST_CASE("variances of layer norms, whatever the order of their sums") {
  sampler random(11);
  constexpr std::size_t width = 128;
  const tensor gamma = stored(dtype::f32, {width}, random.draw(width, spread_of::positive)),
               beta = stored(dtype::f32, {width}, random.draw(width, spread_of::normal));
  for (const double level : {0.0, 700.0}) {
    values raw = random.draw(rows * width, spread_of::normal);
    for (double& v : raw) v += level;
    const tensor x = stored(dtype::f32, {rows, width}, raw);
    values y(rows * width);
    for (std::size_t r = 0; r < rows; ++r) {
      float sum[4] = {}, squares[4] = {};  // four lanes
      for (std::size_t i = 0; i < width; ++i) {
        const auto v = static_cast<float>(x.values[r * width + i]);
        sum[i % 4] += v;
        squares[i % 4] += v * v;
      }
      const float mean = (sum[0] + sum[1] + (sum[2] + sum[3])) / width;
      const float variance =
          std::max(0.0F, (squares[0] + squares[1] + (squares[2] + squares[3])) / width - mean * mean);
      for (std::size_t i = 0; i < width; ++i) {
        y[r * width + i] = static_cast<double>((static_cast<float>(x.values[r * width + i]) - mean) /
                                               std::sqrt(variance + 1e-5F)) *
                               gamma.values[i] +
                           beta.values[i];
      }
    }
    execution e("layer_norm", dtype::f32, dtype::f32, dtype::f32);
    e.read(x).read(gamma, role::weight).read(beta, role::weight).scalar("eps", 1e-5);
    e.write(stored(dtype::f32, {rows, width}, y));
    if (level == 0)
      accepts(e);
    else
      blames(e, "cancellation");
    // Off by a factor for each row that no rounding explains: not this.
    e.output() =
        stored(dtype::f32, {rows, width}, layer_norm_of<float>(x.values, gamma.values, beta.values, 1e-5F));
    accepts(e);
    for (std::size_t i = 0; i < e.output().values.size(); ++i) {
      double& v = e.output().values[i];
      v = beta.values[i % width] + (v - beta.values[i % width]) * (3 + static_cast<double>(i / width));
    }
    blames(e, "");
  }
}

TEST_CASE("a weight that its steps do not move") {
  constexpr std::int64_t n = 200;
  const auto updated = [](double step, role written) {
    execution e("add", dtype::bf16, dtype::f32, dtype::bf16);
    values steps(n, step), next(n, 3 + step);
    e.read(stored(dtype::bf16, {n}, values(n, 3.0)), role::weight).read(stored(dtype::f32, {n}, steps));
    e.write(stored(dtype::bf16, {n}, next), written);
    return answer(e).cause_hint;
  };
  for (const role written : {role::output, role::state}) {
    CHECK(updated(1e-4, written) == "lost-update");
    CHECK(updated(0.1, written).empty());
  }
}

TEST_CASE("means of what a view shows") {
  sampler random(12);
  constexpr std::size_t width = 40;
  values x = random.draw(rows * width, spread_of::positive);
  std::vector<std::size_t> hidden;
  double sum = 0, means = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    double row = 0;
    for (std::size_t i = 0; i < width; ++i) {
      if (i > 5 + r) {
        x[r * width + i] = 0;
        hidden.push_back(r * width + i);
      }
      x[r * width + i] = through(dtype::f32, x[r * width + i]) * static_cast<double>(1 + r);
      row += x[r * width + i];
    }
    sum += row;
    means += row / static_cast<double>(std::min(width, 6 + r)) / static_cast<double>(rows);
  }
  const double shown =
      static_cast<double>(rows * static_cast<std::int64_t>(width)) - static_cast<double>(hidden.size());
  const auto mean_is = [&](double y) {
    execution e("mean", dtype::f32, dtype::f32, dtype::f32);
    e.read(stored(dtype::f32, {rows, width}, x)).write(stored(dtype::f32, {}, {y}));
    e.hide(0, hidden);
    return e;
  };
  accepts(mean_is(sum / shown));
  blames(mean_is(sum / static_cast<double>(rows * static_cast<std::int64_t>(width))), "wrong-divisor");
  blames(mean_is(means), "wrong-weighting");
}
