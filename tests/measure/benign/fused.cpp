// Kernels that one run fuses and the other has in parts. Inside a fused kernel nothing is rounded to the
// run's format, except probabilities before they multiply values, as a matrix unit asks for.
#include <algorithm>
#include <cmath>
#include <limits>

#include "measure/benign/attention.hpp"
#include "measure/benign/losses.hpp"
#include "measure/benign/product.hpp"

namespace benign {
namespace {

constexpr auto silu = [](auto v) { return v / (1 + std::exp(-v)); };

bool fuses(const program& p) {
  return p.reference == p.how.reference_fuses;
}

// What the next op, which both runs have, makes of a result.
void read_on(program& p, const std::string& name, const tensor& x) {
  const tensor y = p.source(x.extents);
  recorded(name, "add", p.formats())
      .in("x", x)
      .in("y", y)
      .out("z", p.result(x.extents, p.mapped([](auto a, auto b) { return a + b; }, x, y)));
}

// Keys in blocks, the running maximum and sum rescaled at each.
template <class A>
values streamed(const program& p, const tensor& q, const tensor& k, const tensor& v, double scale) {
  const auto tokens = static_cast<std::size_t>(q.extents[1]), width = static_cast<std::size_t>(q.last());
  const auto block = static_cast<std::size_t>(p.how.block);
  const auto to_unit = [&](A x) {
    return static_cast<A>(numdiff::decode(p.real, numdiff::encode(p.real, static_cast<double>(x))));
  };
  values y(q.size());
  std::vector<A> sums(width), scores(block);
  for (std::size_t row = 0; row < q.size() / width; ++row) {
    const std::size_t head = row / tokens * tokens, visible = row - head + 1;
    A top = -std::numeric_limits<A>::infinity(), total = 0;
    std::fill(sums.begin(), sums.end(), A(0));
    for (std::size_t first = 0; first < visible; first += block) {
      const std::size_t keys = std::min(block, visible - first);
      A next = top;
      for (std::size_t j = 0; j < keys; ++j) {
        const std::size_t at = (head + first + j) * width;
        scores[j] = dot_of<A>(
                        p.adds, width, [&](std::size_t i) { return static_cast<A>(q[row * width + i]); },
                        [&](std::size_t i) { return static_cast<A>(k[at + i]); }) *
                    static_cast<A>(scale);
        next = std::max(next, scores[j]);
      }
      const A keep = std::exp(top - next);
      top = next;
      total *= keep;
      for (A& s : sums) s *= keep;
      for (std::size_t j = 0; j < keys; ++j) {
        const A e = std::exp(scores[j] - top), weight = to_unit(e);
        total += e;
        for (std::size_t i = 0; i < width; ++i)
          sums[i] += weight * static_cast<A>(v[(head + first + j) * width + i]);
      }
    }
    for (std::size_t i = 0; i < width; ++i) y[row * width + i] = sums[i] / total;
  }
  return y;
}

template <class A>
values rms_norm(const program& p, const tensor& x, const tensor& gamma) {
  const std::size_t w = gamma.size();
  values y(x.size());
  for (std::size_t i = 0; i < y.size(); i += w) {
    const auto at = [&](std::size_t j) { return static_cast<A>(x[i + j]); };
    const A inverse = 1 / std::sqrt(dot_of<A>(p.adds, w, at, at) / static_cast<A>(w) + A(1e-5));
    for (std::size_t j = 0; j < w; ++j) y[i + j] = at(j) * inverse * static_cast<A>(gamma[j]);
  }
  return y;
}

void attention_kernel(program& p) {
  const auto scope = numdiff::scoped::name("attention");
  const shape s = {p.how.batch, p.how.rows, 2 * p.between(2, 16)};
  const tensor q = p.source(s, 0.5), k = p.source(s, 0.5), v = p.source(s);
  product_options scaled;
  scaled.alpha = 1 / std::sqrt(static_cast<double>(s[2]));
  tensor y;
  if (fuses(p)) {
    y = p.result(s, in_inner(p, [&]<class A>() { return streamed<A>(p, q, k, v, scaled.alpha); }));
    recorded("attention", "attention", p.formats().reduction(s[1]))
        .in("q", q)
        .in("k", k)
        .in("v", v)
        .scalar("scale", scaled.alpha)
        .out("y", y);
  } else {
    const tensor weights =
        attention_weights(p, causal_mask(p, multiplied(p, "scores", as_is(q), turned(k), scaled)));
    y = multiplied(p, "context", as_is(weights), as_is(v));
  }
  read_on(p, "residual", y);
}

void linear_kernels(program& p) {
  const auto scope = numdiff::scoped::name("linear");
  const std::int64_t tokens = p.how.batch * p.how.rows, width = p.how.width, out = p.between(6, 70);
  const tensor x = p.source({tokens, width}),
               w = p.weights({width, out}, 1 / std::sqrt(static_cast<double>(width))),
               bias = p.weights({out}, 1), head = p.weights({out, out}, 0.3), targets = p.ids(tokens, out);
  product_options with_bias;
  with_bias.addend = &bias;
  tensor y;
  if (fuses(p)) {
    const operands o = read_by(p, "up", as_is(x), as_is(w));
    y = p.result({tokens, out}, p.mapped(silu, stored(p.inner, {tokens, out}, added_up(p, o, with_bias))));
    recorded op("linear_silu", "linear_silu", product_formats(p, o));
    record_reads(op, o, with_bias).out("y", y);
  } else {
    const tensor z = multiplied(p, "up", as_is(x), as_is(w), with_bias);
    y = p.result(z.extents, p.mapped(silu, z));
    recorded("activation", "silu", p.formats()).in("x", z).out("y", y);
  }
  read_on(p, "residual", y);
  if (fuses(p)) {
    const operands o = read_by(p, "logits", as_is(y), as_is(head));
    const tensor logits = stored(p.inner, {tokens, out}, added_up(p, o, {}));
    const double loss = in_inner(p, [&]<class A>() { return cross_entropy<A>(p, logits, targets); });
    recorded op("linear_loss", "linear_cross_entropy", product_formats(p, o));
    record_reads(op, o, {}).in("targets", targets).scalar("count", static_cast<double>(tokens));
    op.out("loss", p.result({}, {loss}, p.inner));
  } else {
    record_loss(p, "loss", multiplied(p, "logits", as_is(y), as_is(head)), targets);
  }
}

// The norm reads the sum before it is rounded.
void norm_kernel(program& p) {
  const auto scope = numdiff::scoped::name("norm");
  const shape s = {p.how.batch * p.how.rows, p.how.width};
  const tensor x = p.source(s), r = p.source(s), gamma = p.weights({s[1]}, 1);
  const values sum = p.mapped([](auto a, auto b) { return a + b; }, x, r);
  const tensor h = p.result(s, sum);
  const tensor y = p.result(s, in_inner(p, [&]<class A>() {
                              return rms_norm<A>(p, fuses(p) ? stored(p.inner, s, sum) : h, gamma);
                            }));
  if (fuses(p)) {
    recorded("add_norm", "add_rms_norm", p.formats().reduction(s[1]))
        .in("x", x)
        .in("r", r)
        .weight("gamma", gamma)
        .scalar("eps", 1e-5)
        .out("h", h)
        .out("y", y);
  } else {
    recorded("add", "add", p.formats()).in("x", x).in("r", r).out("h", h);
    recorded("norm", "rms_norm", p.formats().reduction(s[1]))
        .in("h", h)
        .weight("gamma", gamma)
        .scalar("eps", 1e-5)
        .out("y", y);
  }
  read_on(p, "residual", h);
  read_on(p, "branch", y);
}

void gate_kernel(program& p) {
  const auto scope = numdiff::scoped::name("gate");
  const shape s = {p.how.batch * p.how.rows, p.how.width};
  const tensor gate = p.source(s), up = p.source(s);
  tensor y;
  if (fuses(p)) {
    y = p.result(s, p.mapped([](auto a, auto b) { return silu(a) * b; }, gate, up));
    recorded("swiglu", "swiglu", p.formats()).in("gate", gate).in("up", up).out("y", y);
  } else {
    const tensor open = p.result(s, p.mapped(silu, gate));
    recorded("silu", "silu", p.formats()).in("x", gate).out("y", open);
    y = p.result(s, p.mapped([](auto a, auto b) { return a * b; }, open, up));
    recorded("multiply", "multiply", p.formats()).in("x", open).in("y", up).out("y", y);
  }
  read_on(p, "residual", y);
}

}  // namespace

void fused(program& p) {
  const auto scope = numdiff::scoped::name("fused");
  attention_kernel(p);
  linear_kernels(p);
  norm_kernel(p);
  gate_kernel(p);
}

}  // namespace benign
