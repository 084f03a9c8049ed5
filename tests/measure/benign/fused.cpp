// Fused linear layers, norms and gates. Inside a fused kernel nothing is rounded to the run's format.
#include <cmath>

#include "measure/benign/fused.hpp"
#include "measure/benign/losses.hpp"
#include "measure/benign/product.hpp"

namespace benign {
namespace {

constexpr auto silu = [](auto v) { return v / (1 + std::exp(-v)); };

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

void fused(program& p) {
  const auto scope = numdiff::scoped::name("fused");
  attention_kernels(p);
  linear_kernels(p);
  norm_kernel(p);
  gate_kernel(p);
}

}  // namespace benign
