// Ops that work on whole rows: norms, softmax, cross-entropy, and their gradients.
#include <algorithm>
#include <cmath>

#include "measure/benign/losses.hpp"

namespace benign {
namespace {

struct norm_results {
  values y, dx, dgamma, dbeta;
};

template <class A>
norm_results norm(const program& p, const tensor& x, const tensor& dy, const tensor& gamma,
                  const tensor& beta, bool centred) {
  const std::size_t w = gamma.size(), r = x.size() / w;
  norm_results n{values(x.size()), values(x.size()), values(w), values(w)};
  std::vector<A> normal(x.size());
  const auto width = static_cast<A>(w);
  for (std::size_t i = 0; i < r; ++i) {
    const auto at = [&](std::size_t j) { return static_cast<A>(x[i * w + j]); };
    const A mean = centred ? sum_of<A>(p.adds, w, at) / width : A(0);
    const auto off = [&](std::size_t j) { return at(j) - mean; };
    const A inverse = 1 / std::sqrt(dot_of<A>(p.adds, w, off, off) / width + A(1e-5));
    const auto g = [&](std::size_t j) { return static_cast<A>(dy[i * w + j]) * static_cast<A>(gamma[j]); };
    for (std::size_t j = 0; j < w; ++j) {
      normal[i * w + j] = off(j) * inverse;
      n.y[i * w + j] =
          normal[i * w + j] * static_cast<A>(gamma[j]) + (centred ? static_cast<A>(beta[j]) : A(0));
    }
    const A sum = centred ? sum_of<A>(p.adds, w, g) / width : A(0);
    const A dot = dot_of<A>(p.adds, w, g, [&](std::size_t j) { return normal[i * w + j]; }) / width;
    for (std::size_t j = 0; j < w; ++j) n.dx[i * w + j] = inverse * (g(j) - sum - normal[i * w + j] * dot);
  }
  for (std::size_t j = 0; j < w; ++j) {
    const auto g = [&](std::size_t i) { return static_cast<A>(dy[i * w + j]); };
    n.dgamma[j] = dot_of<A>(p.adds, r, g, [&](std::size_t i) { return normal[i * w + j]; });
    n.dbeta[j] = sum_of<A>(p.adds, r, g);
  }
  return n;
}

void norms(program& p, const tensor& x, const tensor& dy) {
  const shape s = x.extents, w = {x.last()};
  const tensor gamma = p.weights(w, 1), beta = p.weights(w, 1);
  const numdiff::dtypes d = p.formats();
  for (const bool centred : {false, true}) {
    const norm_results n = in_inner(p, [&]<class A>() { return norm<A>(p, x, dy, gamma, beta, centred); });
    const std::string kind = centred ? "layer_norm" : "rms_norm";
    {
      recorded op(kind, kind.c_str(), d.reduction(x.last()));
      op.in("x", x).weight("gamma", gamma);
      if (centred) op.weight("beta", beta);
      op.scalar("eps", 1e-5).out("y", p.result(s, n.y));
    }
    recorded op(kind + "_gradient", (kind + "_gradient").c_str(), d.reduction(x.last()));
    op.in("dy", dy).in("x", x).weight("gamma", gamma).scalar("eps", 1e-5).gradient("dx", p.result(s, n.dx));
    op.gradient("dgamma", p.result(w, n.dgamma));
    if (centred) op.gradient("dbeta", p.result(w, n.dbeta));
  }
}

}  // namespace

void rows(program& p) {
  const auto scope = numdiff::scoped::name("rows");
  const shape s = {p.how.batch * p.how.rows, p.how.width};
  const numdiff::dtypes d = p.formats();
  const tensor x = p.operand("x", p.source(s)), dy = p.source(s, 0.01);
  norms(p, x, dy);

  const tensor probabilities = p.result(s, in_inner(p, [&]<class A>() { return softmax<A>(p, x, A(0.25)); }));
  recorded("softmax", "softmax", d.reduction(x.last()))
      .in("x", x)
      .scalar("scale", 0.25)
      .out("p", probabilities);
  const auto w = static_cast<std::size_t>(x.last());
  values dx(x.size());
  in_inner(p, [&]<class A>() {
    for (std::size_t i = 0; i < dx.size(); i += w) {
      const auto g = [&](std::size_t j) { return static_cast<A>(dy[i + j]); };
      const auto q = [&](std::size_t j) { return static_cast<A>(probabilities[i + j]); };
      const A dot = dot_of<A>(p.adds, w, g, q);
      for (std::size_t j = 0; j < w; ++j) dx[i + j] = A(0.25) * (q(j) * (g(j) - dot));
    }
    return 0;
  });
  recorded("softmax_gradient", "softmax_gradient", d.reduction(x.last()))
      .in("dp", dy)
      .in("p", probabilities)
      .scalar("scale", 0.25)
      .gradient("dx", p.result(s, dx));

  const tensor targets = p.ids(s[0], s[1]);
  record_loss(p, "cross_entropy", x, targets);
  const auto count = static_cast<double>(s[0]);
  const values q = in_inner(p, [&]<class A>() { return softmax<A>(p, x, A(1)); });
  in_inner(p, [&]<class A>() {
    for (std::size_t i = 0; i < dx.size(); ++i) {
      const A one = i % w == static_cast<std::size_t>(targets[i / w]) ? 1 : 0;
      dx[i] = (static_cast<A>(q[i]) - one) / static_cast<A>(count);
    }
    return 0;
  });
  recorded("cross_entropy_gradient", "cross_entropy_gradient", d)
      .in("logits", x)
      .in("targets", targets)
      .scalar("count", count)
      .gradient("dlogits", p.result(s, dx));
}

}  // namespace benign
