// Attention over blocks of keys, which keeps the log of each row's sum, and its gradient, which computes the
// probabilities again from it (Dao, 2023). Probabilities and their gradients are rounded to the run's format
// before they multiply, as a matrix unit asks for; nothing else is.
#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/benign/attention.hpp"
#include "measure/benign/fused.hpp"
#include "measure/benign/product.hpp"

namespace benign {
namespace {

struct attended {
  values y, lse;  // lse: of each row
};

template <class A>
A to_unit(const program& p, A x) {
  return static_cast<A>(numdiff::decode(p.real, numdiff::encode(p.real, static_cast<double>(x))));
}

// Rows of x and y that begin at these places.
template <class A>
A row_product(const program& p, const tensor& x, std::size_t at_x, const tensor& y, std::size_t at_y) {
  return dot_of<A>(
      p.adds, static_cast<std::size_t>(x.last()), [&](std::size_t i) { return static_cast<A>(x[at_x + i]); },
      [&](std::size_t i) { return static_cast<A>(y[at_y + i]); });
}

// The running maximum and sum are rescaled at each block.
template <class A>
attended streamed(const program& p, const tensor& q, const tensor& k, const tensor& v, double scale) {
  const auto tokens = static_cast<std::size_t>(q.extents[1]), width = static_cast<std::size_t>(q.last());
  const auto block = static_cast<std::size_t>(p.how.block);
  attended r{values(q.size()), values(q.size() / width)};
  std::vector<A> sums(width), scores(block);
  for (std::size_t row = 0; row < q.size() / width; ++row) {
    const std::size_t head = row / tokens * tokens, visible = row - head + 1;
    A top = -std::numeric_limits<A>::infinity(), total = 0;
    std::fill(sums.begin(), sums.end(), A(0));
    for (std::size_t first = 0; first < visible; first += block) {
      const std::size_t keys = std::min(block, visible - first);
      A next = top;
      for (std::size_t j = 0; j < keys; ++j) {
        scores[j] = row_product<A>(p, q, row * width, k, (head + first + j) * width) * static_cast<A>(scale);
        next = std::max(next, scores[j]);
      }
      const A keep = std::exp(top - next);
      top = next;
      total *= keep;
      for (A& s : sums) s *= keep;
      for (std::size_t j = 0; j < keys; ++j) {
        const A e = std::exp(scores[j] - top), weight = to_unit(p, e);
        total += e;
        for (std::size_t i = 0; i < width; ++i)
          sums[i] += weight * static_cast<A>(v[(head + first + j) * width + i]);
      }
    }
    for (std::size_t i = 0; i < width; ++i) r.y[row * width + i] = sums[i] / total;
    r.lse[row] = top + std::log(total);
  }
  return r;
}

struct gradients {
  values q, k, v;
};

template <class A>
gradients streamed_gradient(const program& p, const tensor& q, const tensor& k, const tensor& v,
                            const tensor& y, const tensor& lse, const tensor& dy, double scale) {
  const auto tokens = static_cast<std::size_t>(q.extents[1]), width = static_cast<std::size_t>(q.last());
  std::vector<A> dq(q.size()), dk(q.size()), dv(q.size());
  for (std::size_t row = 0; row < q.size() / width; ++row) {
    const A mean = row_product<A>(p, dy, row * width, y, row * width);
    for (std::size_t key = row / tokens * tokens; key <= row; ++key) {
      const A score = row_product<A>(p, q, row * width, k, key * width) * static_cast<A>(scale),
              weight = std::exp(score - static_cast<A>(lse[row])),
              change = row_product<A>(p, dy, row * width, v, key * width),
              ds = to_unit(p, weight * (change - mean)), used = to_unit(p, weight);
      for (std::size_t i = 0; i < width; ++i) {
        dv[key * width + i] += used * static_cast<A>(dy[row * width + i]);
        dq[row * width + i] += ds * static_cast<A>(k[key * width + i]);
        dk[key * width + i] += ds * static_cast<A>(q[row * width + i]);
      }
    }
  }
  gradients g{values(q.size()), values(q.size()), values(q.size())};
  for (std::size_t i = 0; i < q.size(); ++i) {
    g.q[i] = dq[i] * static_cast<A>(scale);
    g.k[i] = dk[i] * static_cast<A>(scale);
    g.v[i] = dv[i];
  }
  return g;
}

void in_one(program& p, const tensor& q, const tensor& k, const tensor& v, double scale, bool tells_mask) {
  const shape s = q.extents;
  const numdiff::dtypes formats = p.formats().reduction(s[1]);
  const attended r = in_inner(p, [&]<class A>() { return streamed<A>(p, q, k, v, scale); });
  const tensor y = p.result(s, r.y), lse = stored(p.inner, {s[0], s[1]}, r.lse);
  const auto told = [&](recorded& op) {
    op.scalar("scale", scale);
    if (tells_mask) op.scalar("causal", 1);
  };
  {
    recorded op("attention", "attention", formats);
    told(op.in("q", q).in("k", k).in("v", v));
    op.out("y", y).out("lse", lse);
  }
  read_on(p, "residual", y);

  const auto backward = numdiff::scoped::phase(numdiff::phase::backward);
  const tensor dy = p.source(s, 0.02);
  const gradients g =
      in_inner(p, [&]<class A>() { return streamed_gradient<A>(p, q, k, v, y, lse, dy, scale); });
  const tensor dq = p.result(s, g.q), dk = p.result(s, g.k), dv = p.result(s, g.v);
  {
    recorded op("attention.gradient", "attention_gradient", formats);
    told(op.in("dy", dy).in("q", q).in("k", k).in("v", v).in("y", y).in("lse", lse));
    op.gradient("dq", dq).gradient("dk", dk).gradient("dv", dv);
  }
  read_on(p, "query", dq);
  read_on(p, "key", dk);
  read_on(p, "value", dv);
}

void in_parts(program& p, const tensor& q, const tensor& k, const tensor& v, double scale) {
  product_options scaled, plain;
  scaled.alpha = scale;
  const tensor weights =
      attention_weights(p, causal_mask(p, multiplied(p, "scores", as_is(q), turned(k), scaled)));
  read_on(p, "residual", multiplied(p, "context", as_is(weights), as_is(v)));

  const auto backward = numdiff::scoped::phase(numdiff::phase::backward);
  const tensor dy = p.source(q.extents, 0.02);
  scaled.gradient = plain.gradient = true;
  const tensor dv = multiplied(p, "dv", turned(weights), as_is(dy), plain),
               ds = attention_weights_gradient(p, weights, multiplied(p, "dp", as_is(dy), turned(v), plain)),
               dq = multiplied(p, "dq", as_is(ds), as_is(k), scaled),
               dk = multiplied(p, "dk", turned(ds), as_is(q), scaled);
  read_on(p, "query", dq);
  read_on(p, "key", dk);
  read_on(p, "value", dv);
}

}  // namespace

void attention_kernels(program& p) {
  const shape s = {p.how.batch, p.how.rows, 2 * p.between(2, 16)};
  const double scale = 1 / std::sqrt(static_cast<double>(s[2]));
  {
    const auto scope = numdiff::scoped::name("attention");
    const tensor q = p.source(s, 0.5), k = p.source(s, 0.5), v = p.source(s);
    if (fuses(p))
      in_one(p, q, k, v, scale, false);
    else
      in_parts(p, q, k, v, scale);
  }
  const auto scope = numdiff::scoped::name("attention_of_both");
  const tensor q = p.source(s, 0.5), k = p.source(s, 0.5), v = p.source(s);
  in_one(p, q, k, v, scale, p.between(0, 1) == 1);
}

}  // namespace benign
