// Attention in parts, forward and backward, with rotated positions, a causal mask and dropout.
#include <cmath>
#include <limits>

#include "measure/benign/attention.hpp"
#include "measure/benign/losses.hpp"
#include "measure/benign/product.hpp"

namespace benign {
namespace {

// x [tokens, heads, width] turned by its positions; sign -1 turns back.
tensor rope(program& p, const char* name, const tensor& x, const tensor& positions, int sign) {
  const auto width = static_cast<std::size_t>(x.last()), heads = static_cast<std::size_t>(x.extents[1]),
             half = width / 2;
  values y(x.size());
  in_inner(p, [&]<class A>() {
    for (std::size_t row = 0; row < y.size() / width; ++row) {
      for (std::size_t i = 0; i < half; ++i) {
        const A angle = static_cast<A>(sign) * static_cast<A>(positions[row / heads]) *
                        std::pow(A(10000), -2 * static_cast<A>(i) / static_cast<A>(width));
        const std::size_t at = row * width + i;
        const A a = static_cast<A>(x[at]), b = static_cast<A>(x[at + half]);
        y[at] = a * std::cos(angle) - b * std::sin(angle);
        y[at + half] = a * std::sin(angle) + b * std::cos(angle);
      }
    }
    return 0;
  });
  tensor z = p.result(x.extents, y);
  recorded op(name, "rope", p.formats());
  op.in("x", x).in("positions", positions).scalar("base", 10000).scalar("sign", sign).out("y", z);
  return z;
}

// [tokens, heads, width] as [heads, tokens, width].
tensor by_head(const char* name, const tensor& x) {
  const auto tokens = static_cast<std::size_t>(x.extents[0]), heads = static_cast<std::size_t>(x.extents[1]),
             width = static_cast<std::size_t>(x.last());
  values y(x.size());
  for (std::size_t i = 0; i < y.size(); ++i) {
    const std::size_t h = i / width % heads, t = i / width / heads;
    y[(h * tokens + t) * width + i % width] = x[i];
  }
  const shape s = {x.extents[1], x.extents[0], x.last()};
  tensor z = stored(x.type, s, y);
  const numdiff::view turned =
      numdiff::view(x.codes.data(), x.type, {s[0], s[1], s[2]}).strides({s[2], s[0] * s[2], 1});
  recorded(name, "copy", numdiff::dtypes(x.type, x.type, x.type))
      .view(numdiff::role::input, "x", turned)
      .out("y", z);
  return z;
}

}  // namespace

tensor causal_mask(program& p, const tensor& scores) {
  values hidden = scores.x;
  const auto n = static_cast<std::size_t>(scores.last());
  for (std::size_t i = 0; i < hidden.size(); ++i)
    if (i % n > i / n % n) hidden[i] = -std::numeric_limits<double>::infinity();
  tensor masked = stored(p.real, scores.extents, hidden);
  recorded("mask", "mask", p.formats()).in("x", scores).scalar("causal", 1).out("y", masked);
  return masked;
}

tensor attention_weights(program& p, const tensor& masked) {
  tensor weights =
      p.result(masked.extents, in_inner(p, [&]<class A>() { return softmax<A>(p, masked, A(1)); }));
  recorded("softmax", "softmax", p.formats().reduction(masked.last())).in("x", masked).out("p", weights);
  return weights;
}

tensor attention_weights_gradient(program& p, const tensor& weights, const tensor& dp) {
  const auto n = static_cast<std::size_t>(dp.last());
  values ds(dp.size());
  in_inner(p, [&]<class A>() {
    for (std::size_t i = 0; i < ds.size(); i += n) {
      const auto g = [&](std::size_t j) { return static_cast<A>(dp[i + j]); };
      const auto w = [&](std::size_t j) { return static_cast<A>(weights[i + j]); };
      const A dot = dot_of<A>(p.adds, n, g, w);
      for (std::size_t j = 0; j < n; ++j) ds[i + j] = w(j) * (g(j) - dot);
    }
    return 0;
  });
  tensor dscores = p.result(dp.extents, ds);
  recorded("softmax.gradient", "softmax_gradient", p.formats().reduction(dp.last()))
      .in("dp", dp)
      .in("p", weights)
      .gradient("ds", dscores);
  return dscores;
}

void attention(program& p) {
  const auto scope = numdiff::scoped::name("attention");
  const std::int64_t tokens = p.how.rows, heads = p.how.batch, width = 2 * p.between(2, 16);
  const shape s = {tokens, heads, width};
  values at(static_cast<std::size_t>(tokens));
  const std::int64_t first = p.between(0, 5000);
  for (std::size_t t = 0; t < at.size(); ++t)
    at[t] = static_cast<double>(first + static_cast<std::int64_t>(t));
  const tensor positions = stored(dtype::i64, {tokens}, at);
  const tensor q = by_head("heads_q", rope(p, "rope_q", p.source(s, 0.5), positions, 1)),
               k = by_head("heads_k", rope(p, "rope_k", p.source(s, 0.5), positions, 1)),
               v = by_head("heads_v", p.source(s));
  product_options scaled, gradient;
  scaled.alpha = 1 / std::sqrt(static_cast<double>(width));
  gradient.gradient = true;
  const tensor scores = multiplied(p, "scores", as_is(q), turned(k), scaled);
  const tensor weights = attention_weights(p, causal_mask(p, scores));
  multiplied(p, "context", as_is(weights), as_is(v));

  const auto backward = numdiff::scoped::phase(numdiff::phase::backward);
  const tensor dy = p.source({heads, tokens, width}, 0.02);
  multiplied(p, "dv", turned(weights), as_is(dy), gradient);
  const tensor dp = multiplied(p, "dp", as_is(dy), turned(v), gradient);
  const tensor dscores = attention_weights_gradient(p, weights, dp);
  multiplied(p, "dq", as_is(dscores), as_is(k), scaled);
  multiplied(p, "dk", turned(dscores), as_is(q), scaled);
}

}  // namespace benign
