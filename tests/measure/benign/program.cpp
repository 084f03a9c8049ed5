#include "measure/benign/program.hpp"

#include <algorithm>
#include <cmath>

namespace benign {
namespace {

dtype real_of(const setting& s, bool reference) {
  if (reference) return s.reference;
  switch (s.format) {
    case number_format::fp32: return dtype::f32;
    case number_format::fp16: return dtype::f16;
    default: return dtype::bf16;
  }
}

adding adding_of(const setting& s, bool reference) {
  if (reference) return {};
  return {s.order, static_cast<std::size_t>(s.pieces), s.fused};
}

}  // namespace

program::program(const setting& s, bool is_reference)
    : how(s),
      reference(is_reference),
      real(real_of(s, is_reference)),
      inner(real == dtype::f64 ? dtype::f64 : dtype::f32),
      adds(adding_of(s, is_reference)),
      random_(s.seed),
      noise_(s.seed) {}

numdiff::dtypes program::formats(dtype out) const {
  numdiff::dtypes d(real, inner, out);
  if (!reference && how.stochastic && out == real) d = d.rounding(numdiff::rounding::stochastic);
  return d;
}

values program::draw(const shape& s, data_of data) {
  std::normal_distribution<double> normal;
  values x(static_cast<std::size_t>(count_of(s)));
  const auto width = static_cast<std::size_t>(s.empty() ? 1 : s.back());
  const auto square = [&] {
    const double g = normal(random_);
    return g * g;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double g = normal(random_);
    switch (data) {
      case data_of::normal: x[i] = g; break;
      case data_of::positive: x[i] = std::fabs(g) + 0.01; break;
      case data_of::heavy: x[i] = g / std::sqrt((square() + square() + square()) / 3 + 1e-3); break;
      case data_of::outliers: x[i] = i % width == width / 3 ? 32 * g : g; break;
      case data_of::cancelling:
        // Neighbours in rows and in columns nearly cancel.
        x[i] = ((i % width + i / width) % 2 == 0 ? 3 : -3) + 0.05 * g;
        break;
    }
  }
  return x;
}

tensor program::source(const shape& s, double scale) {
  values x = draw(s, how.data);
  for (double& v : x) v *= scale;
  return stored(real, s, x);
}

tensor program::positive(const shape& s) {
  values x = draw(s, how.data);
  for (double& v : x) v = std::fabs(v) + 0.05;
  return stored(real, s, x);
}

tensor program::weights(const shape& s, double deviation, dtype type) {
  values x = draw(s, data_of::normal);
  for (double& v : x) v *= deviation;
  return stored(type, s, x);
}

tensor program::ids(std::int64_t count, std::int64_t limit) {
  values x(static_cast<std::size_t>(count));
  for (double& v : x) v = static_cast<double>(between(0, limit - 1));
  return stored(dtype::i32, {count}, x);
}

std::int64_t program::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_() % static_cast<std::uint64_t>(high - low + 1));
}

tensor program::result(const shape& s, const values& x, dtype type) {
  const bool noisy = !reference && how.stochastic && type == real;
  return stored(type, s, x, noisy ? numdiff::rounding::stochastic : numdiff::rounding::nearest_even, &noise_);
}

tensor program::operand(const std::string& name, const tensor& x, const numdiff::view& seen, bool columns) {
  if (reference || how.format < number_format::e4m3) return x;
  numdiff::recipe recipe = how.scales;
  if (columns) recipe = numdiff::columnwise(recipe);
  if (recipe.per == numdiff::granularity::row && columns) recipe.per = numdiff::granularity::column;
  if (how.delayed) {
    // The scale of earlier tensors like this one, whose largest values were up to twice as large.
    float amax = 0;
    for (const double v : x.x) amax = std::max(amax, static_cast<float>(std::fabs(v)));
    constexpr float drift[] = {1.0F, 1.1F, 1.3F, 1.0F, 1.9F};
    recipe.given_encode_scale = 448 / (amax * drift[delayed_++ % 5]);
  }
  tensor y = quantised(x, recipe);
  numdiff::dtypes d(x.type, dtype::f32, y.type);
  if (how.stochastic) d = d.rounding(numdiff::rounding::stochastic);
  recorded(name + ".cast", "cast", d).view(numdiff::role::input, "x", seen).cast("y", seen, y);
  return y;
}

}  // namespace benign
