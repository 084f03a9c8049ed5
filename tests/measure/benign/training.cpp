// Tables, clipping, and two updates of AdamW.
#include <algorithm>
#include <cmath>

#include "measure/benign/program.hpp"

namespace benign {
namespace {

void tables(program& p) {
  const std::int64_t entries = p.between(3, 60), tokens = p.how.batch * p.how.rows, width = p.how.width;
  const auto w = static_cast<std::size_t>(width), t = static_cast<std::size_t>(tokens);
  const tensor ids = p.ids(tokens, entries), table = p.weights({entries, width}, 1);
  values y(t * w), sums(static_cast<std::size_t>(entries * width));
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = table[static_cast<std::size_t>(ids[i / w]) * w + i % w];
  recorded("embedding", "embedding", p.formats())
      .in("ids", ids)
      .weight("table", table)
      .out("y", p.result({tokens, width}, y));
  const tensor dy = p.source({tokens, width}, 0.01);
  in_inner(p, [&]<class A>() {
    for (std::size_t id = 0; id < sums.size() / w; ++id) {
      std::vector<std::size_t> mine;
      for (std::size_t i = 0; i < t; ++i)
        if (ids[i] == static_cast<double>(id)) mine.push_back(i);
      for (std::size_t j = 0; j < w; ++j) {
        sums[id * w + j] = sum_of<A>(p.adds, mine.size(),
                                     [&](std::size_t i) { return static_cast<A>(dy[mine[i] * w + j]); });
      }
    }
    return 0;
  });
  recorded("embedding_gradient", "embedding_gradient", p.formats().reduction(tokens))
      .in("ids", ids)
      .in("dy", dy)
      .gradient("dtable", p.result({entries, width}, sums));
}

// The gradient's norm, clipping by it, and the step.
void update(program& p, std::int64_t number, tensor& weight, tensor& m, tensor& v) {
  const shape s = weight.extents;
  const tensor g = p.source(s, 0.1);
  const double squares = in_inner(p, [&]<class A>() {
    const auto at = [&](std::size_t i) { return static_cast<A>(g[i]); };
    return static_cast<double>(dot_of<A>(p.adds, g.size(), at, at));
  });
  const tensor square = p.result({}, {squares}, p.inner);
  recorded("norm_square", "sum_of_squares", p.formats(p.inner).reduction(static_cast<std::int64_t>(g.size())))
      .in("g", g)
      .out("y", square);
  const tensor norm = p.result({}, p.mapped([](auto a) { return std::sqrt(a); }, square), p.inner);
  recorded("norm", "square_root", numdiff::dtypes(p.inner, p.inner, p.inner)).in("x", square).out("y", norm);
  const double most = number == 1 ? 1 : 1e4;  // clips once
  const tensor clipped = p.result(s, in_inner(p, [&]<class A>() {
                                    const A factor =
                                        std::min(A(1), static_cast<A>(most) / static_cast<A>(norm[0]));
                                    values y(g.size());
                                    for (std::size_t i = 0; i < y.size(); ++i)
                                      y[i] = static_cast<A>(g[i]) * factor;
                                    return y;
                                  }));
  recorded("clip", "clip_by_norm", p.formats())
      .in("g", g)
      .in("norm", norm)
      .scalar("max_norm", most)
      .out("y", clipped);
  const double lr = 1e-3, beta1 = 0.9, beta2 = 0.95, eps = 1e-8, decay = 0.1;
  const auto t = static_cast<double>(number);
  values new_m(m.size()), new_v(v.size()), new_weight(weight.size());
  in_inner(p, [&]<class A>() {
    for (std::size_t i = 0; i < new_m.size(); ++i) {
      const A gradient = static_cast<A>(clipped[i]), w = static_cast<A>(weight[i]);
      const A a = A(beta1) * static_cast<A>(m[i]) + A(1 - beta1) * gradient,
              b = A(beta2) * static_cast<A>(v[i]) + A(1 - beta2) * gradient * gradient;
      const A step =
          a / A(1 - std::pow(beta1, t)) / (std::sqrt(b / A(1 - std::pow(beta2, t))) + A(eps)) + A(decay) * w;
      new_m[i] = a;
      new_v[i] = b;
      new_weight[i] = w - A(lr) * step;
    }
    return 0;
  });
  recorded op("adamw", "adamw", numdiff::dtypes(p.inner, p.inner, p.inner));
  op.weight("p", weight).in("g", clipped).state("m", m).state("v", v);
  op.scalar("lr", lr).scalar("beta1", beta1).scalar("beta2", beta2).scalar("eps", eps);
  op.scalar("weight_decay", decay).scalar("update", t);
  weight = p.result(s, new_weight, p.inner);
  m = p.result(s, new_m, p.inner);
  v = p.result(s, new_v, p.inner);
  op.out("p.new", weight).state("m.new", m).state("v.new", v);
}

}  // namespace

void training(program& p) {
  const auto scope = numdiff::scoped::name("training");
  tables(p);
  const shape s = {p.between(2, 12), p.how.width};
  tensor weight = p.weights(s, 0.5, p.inner);
  tensor m = stored(p.inner, s, values(weight.size(), 0)), v = m;
  for (std::int64_t number = 1; number <= 2; ++number) {
    const auto step = numdiff::scoped::name(number == 1 ? "update_1" : "update_2");
    update(p, number, weight, m, v);
  }
}

}  // namespace benign
