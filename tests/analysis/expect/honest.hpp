#pragma once
// Honest executions of every kind, inner arithmetic in float or double, as a plain kernel would do them.
#include "analysis/expect/emulate.hpp"
#include "numdiff/truncating.hpp"

namespace numdiff::test {

struct formats {
  dtype in, accumulate, out;
  rounding mode = rounding::nearest_even;
};

inline constexpr const char* product_free_kinds[] = {"add",
                                                     "multiply",
                                                     "scale",
                                                     "copy",
                                                     "embedding",
                                                     "embedding_gradient",
                                                     "rms_norm",
                                                     "layer_norm",
                                                     "rope",
                                                     "rms_norm_gradient",
                                                     "layer_norm_gradient",
                                                     "mask",
                                                     "log_sum_exp",
                                                     "softmax",
                                                     "softmax_gradient",
                                                     "silu",
                                                     "silu_gradient",
                                                     "gelu",
                                                     "gelu_gradient",
                                                     "swiglu",
                                                     "swiglu_gradient",
                                                     "cross_entropy",
                                                     "cross_entropy_gradient",
                                                     "sum",
                                                     "amax",
                                                     "sum_of_squares",
                                                     "square_root",
                                                     "clip_by_norm",
                                                     "adamw",
                                                     "cast"};

template <class A>
class honest_kernels {
 public:
  honest_kernels(sampler& random, formats f, spread_of spread, std::int64_t rows, std::int64_t width)
      : random_(random),
        f_(f),
        spread_(spread),
        T(rows),
        D(width),
        n(static_cast<std::size_t>(rows * width)) {}

  execution run(const std::string& kind) {
    execution e(kind, f_.in, f_.accumulate, f_.out);
    e.row().output_rounding = static_cast<std::uint16_t>(f_.mode);
    const auto d = static_cast<std::size_t>(D), t = static_cast<std::size_t>(T);
    if (kind == "add") {
      const tensor x = in(), y = in();
      map(e.read(x).read(y), [&](std::size_t i) { return at(x, i) + at(y, i); });
    } else if (kind == "multiply" || kind == "swiglu") {
      const bool gated = kind == "swiglu";
      const tensor x = in(), y = in();
      map(e.read(x).read(y), [&](std::size_t i) {
        return (gated ? at(x, i) / (1 + std::exp(-at(x, i))) : at(x, i)) * at(y, i);
      });
    } else if (kind == "scale") {
      const tensor x = in();
      map(e.read(x).scalar("factor", 0.3), [&](std::size_t i) { return at(x, i) * A(0.3); });
    } else if (kind == "copy" || kind == "cast") {
      const tensor x = kind == "cast" ? stored(dtype::f32, {T, D}, random_.draw(n, spread_, d)) : in();
      map(e.read(x), [&](std::size_t i) { return x.values[i]; });
    } else if (kind == "square_root") {
      const tensor x = stored(f_.in, {T, D}, positive());
      map(e.read(x), [&](std::size_t i) { return std::sqrt(at(x, i)); });
    } else if (kind == "silu") {
      const tensor x = in();
      map(e.read(x), [&](std::size_t i) { return at(x, i) / (1 + std::exp(-at(x, i))); });
    } else if (kind == "silu_gradient") {
      const tensor dy = in(), x = in();
      map(e.read(dy).read(x), [&](std::size_t i) {
        const A s = 1 / (1 + std::exp(-at(x, i)));
        return at(dy, i) * s * (1 + at(x, i) * (1 - s));
      });
    } else if (kind == "gelu") {
      const tensor x = in();
      map(e.read(x), [&](std::size_t i) { return A(0.5) * at(x, i) * (1 + std::tanh(inner(at(x, i)))); });
    } else if (kind == "gelu_gradient") {
      const tensor dy = in(), x = in();
      map(e.read(dy).read(x), [&](std::size_t i) {
        const A v = at(x, i), h = std::tanh(inner(v)),
                slope = A(0.7978845608028654) * (1 + 3 * A(0.044715) * v * v);
        return at(dy, i) * (A(0.5) * (1 + h) + A(0.5) * v * (1 - h * h) * slope);
      });
    } else if (kind == "swiglu_gradient") {
      const tensor dy = in(), x = in(), up = in();
      values dgate(n), dup(n);
      for (std::size_t i = 0; i < n; ++i) {
        const A s = 1 / (1 + std::exp(-at(x, i)));
        dgate[i] = at(dy, i) * at(up, i) * s * (1 + at(x, i) * (1 - s));
        dup[i] = at(dy, i) * at(x, i) * s;
      }
      e.read(dy).read(x).read(up).write(out({T, D}, dgate)).write(out({T, D}, dup));
    } else if (kind == "softmax") {
      const tensor x = in();
      e.read(x).scalar("scale", 0.25).write(out({T, D}, softmax_of<A>(x.values, d, A(0.25))));
    } else if (kind == "log_sum_exp") {
      const tensor x = in();
      values y(t);
      for (std::size_t r = 0; r < t; ++r) {
        A top = at(x, r * d), sum = 0;
        for (std::size_t i = 0; i < d; ++i) top = std::max(top, at(x, r * d + i));
        for (std::size_t i = 0; i < d; ++i) sum += std::exp(A(0.25) * at(x, r * d + i) - A(0.25) * top);
        y[r] = A(0.25) * top + std::log(sum);
      }
      e.read(x).scalar("scale", 0.25).write(out({T}, y));
    } else if (kind == "softmax_gradient") {
      const tensor dp = in();
      const tensor p = stored(f_.in, {T, D}, softmax_of<A>(in().values, d, A(1)));
      values y(n);
      for (std::size_t r = 0; r < t; ++r) {
        A dot = 0;
        for (std::size_t i = r * d; i < (r + 1) * d; ++i) dot += at(dp, i) * at(p, i);
        for (std::size_t i = r * d; i < (r + 1) * d; ++i) y[i] = A(0.25) * (at(p, i) * (at(dp, i) - dot));
      }
      e.read(dp).read(p).scalar("scale", 0.25).write(out({T, D}, y), role::gradient);
    } else if (kind == "cross_entropy" || kind == "cross_entropy_gradient") {
      const tensor x = in();
      const tensor ids = stored(dtype::i32, {T}, indices(t, d));
      e.read(x).read(ids).scalar("count", static_cast<double>(T));
      const values p = softmax_of<A>(x.values, d, A(1));
      if (kind == "cross_entropy_gradient") {
        values y(n);
        for (std::size_t i = 0; i < n; ++i) {
          y[i] = (A(p[i]) - (i % d == static_cast<std::size_t>(ids.values[i / d]) ? 1 : 0)) /
                 static_cast<A>(T) * A(1024);
        }
        e.scalar("factor", 1024).write(out({T, D}, y), role::gradient);
      } else {
        A total = 0;
        for (std::size_t r = 0; r < t; ++r) {
          A top = at(x, r * d), sum = 0;
          for (std::size_t i = 0; i < d; ++i) top = std::max(top, at(x, r * d + i));
          for (std::size_t i = 0; i < d; ++i) sum += std::exp(at(x, r * d + i) - top);
          total += std::log(sum) + top - at(x, r * d + static_cast<std::size_t>(ids.values[r]));
        }
        e.write(out({}, {total / static_cast<A>(T)}));
      }
    } else if (kind == "rms_norm" || kind == "layer_norm") {
      const tensor x = in(), gamma = row();
      e.read(x).read(gamma, role::weight).scalar("eps", 1e-5);
      if (kind == "rms_norm") {
        e.write(out({T, D}, rms_norm_of<A>(x.values, gamma.values, A(1e-5))));
      } else {
        const tensor beta = row();
        e.read(beta, role::weight)
            .write(out({T, D}, layer_norm_of<A>(x.values, gamma.values, beta.values, A(1e-5))));
      }
    } else if (kind == "rms_norm_gradient" || kind == "layer_norm_gradient") {
      norm_gradient(e, kind == "layer_norm_gradient");
    } else if (kind == "rope") {
      rotate(e);
    } else if (kind == "mask") {
      const tensor x = in();
      map(e.read(x).scalar("causal", 1), [&](std::size_t i) {
        return i % d + t <= i / d + d ? x.values[i] : -std::numeric_limits<double>::infinity();
      });
    } else if (kind == "embedding" || kind == "embedding_gradient") {
      embed(e, kind == "embedding_gradient");
    } else if (kind == "sum") {
      const tensor x = in();
      std::vector<A> s(d, 0);
      for (std::size_t i = 0; i < n; ++i) s[i % d] += at(x, i);
      e.read(x).write(out({D}, values(s.begin(), s.end())));
    } else if (kind == "amax") {
      const tensor x = in();
      double top = 0;
      for (const double v : x.values) top = std::max(top, std::fabs(v));
      e.read(x).write(stored(dtype::f32, {}, {top}));
    } else if (kind == "sum_of_squares") {
      const tensor x = in(), y = in();
      A s = 0;
      for (const tensor* v : {&x, &y}) {
        for (std::size_t i = 0; i < n; ++i) s += at(*v, i) * at(*v, i);
      }
      e.read(x).read(y).write(stored(f_.accumulate, {}, {s}));
    } else if (kind == "clip_by_norm") {
      const tensor x = in(), norm = stored(f_.accumulate, {}, {random_.between(0, 1) == 1 ? 7.3 : 0.4});
      const A factor = std::min(A(1), A(1.0) / static_cast<A>(norm.values[0]));
      map(e.read(x).read(norm).scalar("max_norm", 1), [&](std::size_t i) { return at(x, i) * factor; });
    } else if (kind == "adamw") {
      step(e);
    }
    return e;
  }

 private:
  tensor in() { return stored(f_.in, {T, D}, random_.draw(n, spread_, static_cast<std::size_t>(D))); }
  tensor row() { return stored(f_.in, {D}, random_.draw(static_cast<std::size_t>(D), spread_of::normal)); }
  tensor out(const extents& shape, const values& v) { return stored(f_.out, shape, v, f_.mode); }
  values positive() {
    values x = random_.draw(n, spread_, static_cast<std::size_t>(D));
    for (double& v : x) v = std::fabs(v);
    return x;
  }
  values indices(std::size_t count, std::size_t limit) {
    values x(count);
    for (double& v : x) v = static_cast<double>(random_.between(0, static_cast<std::int64_t>(limit) - 1));
    return x;
  }
  static A at(const tensor& x, std::size_t i) { return static_cast<A>(x.values[i]); }
  static A inner(A x) { return A(0.7978845608028654) * (x + A(0.044715) * x * x * x); }
  template <class F>
  void map(execution& e, F&& f) {
    values y(n);
    for (std::size_t i = 0; i < n; ++i) y[i] = f(i);
    e.write(out({T, D}, y));
  }

  void norm_gradient(execution& e, bool centred) {
    const tensor dy = in(), x = in(), gamma = row();
    const auto d = static_cast<std::size_t>(D);
    std::vector<A> dgamma(d, 0), dbeta(d, 0);
    values dx(n);
    for (std::size_t r = 0; r < n; r += d) {
      A mean = 0, squares = 0, sum = 0, dot = 0;
      for (std::size_t i = 0; i < d && centred; ++i) mean += at(x, r + i);
      mean /= static_cast<A>(D);
      for (std::size_t i = 0; i < d; ++i) squares += (at(x, r + i) - mean) * (at(x, r + i) - mean);
      const A inverse = 1 / std::sqrt(squares / static_cast<A>(D) + A(1e-5));
      for (std::size_t i = 0; i < d; ++i) {
        if (centred) sum += at(dy, r + i) * at(gamma, i);
        dot += at(dy, r + i) * at(gamma, i) * (at(x, r + i) - mean) * inverse;
      }
      for (std::size_t i = 0; i < d; ++i) {
        const A normal = (at(x, r + i) - mean) * inverse;
        dx[r + i] = inverse * (at(dy, r + i) * at(gamma, i) - sum / static_cast<A>(D) -
                               normal * dot / static_cast<A>(D));
        dgamma[i] += at(dy, r + i) * normal;
        dbeta[i] += at(dy, r + i);
      }
    }
    e.read(dy).read(x).read(gamma, role::weight).scalar("eps", 1e-5);
    e.write(out({T, D}, dx), role::gradient)
        .write(out({D}, values(dgamma.begin(), dgamma.end())), role::gradient);
    if (centred) e.write(out({D}, values(dbeta.begin(), dbeta.end())), role::gradient);
  }

  void rotate(execution& e) {
    const std::int64_t half = D / 2, width = 2 * half;
    const tensor x =
        stored(f_.in, {T, 1, width}, random_.draw(static_cast<std::size_t>(T * width), spread_, 8));
    values positions(static_cast<std::size_t>(T)), y(x.values.size());
    for (std::int64_t t = 0; t < T; ++t)
      positions[static_cast<std::size_t>(t)] = static_cast<double>(4001 + 3 * t);
    for (std::int64_t t = 0; t < T; ++t) {
      for (std::int64_t i = 0; i < half; ++i) {
        const A angle = static_cast<A>(positions[static_cast<std::size_t>(t)]) *
                        std::pow(A(10000), -2 * static_cast<A>(i) / static_cast<A>(width));
        const auto a = static_cast<std::size_t>(t * width + i), b = a + static_cast<std::size_t>(half);
        y[a] = at(x, a) * std::cos(angle) - at(x, b) * std::sin(angle);
        y[b] = at(x, a) * std::sin(angle) + at(x, b) * std::cos(angle);
      }
    }
    e.read(x).read(stored(dtype::i64, {T}, positions)).scalar("base", 10000).write(out({T, 1, width}, y));
  }

  void embed(execution& e, bool backward) {
    const std::int64_t entries = 11;
    const auto d = static_cast<std::size_t>(D), t = static_cast<std::size_t>(T);
    const tensor ids = stored(dtype::i32, {T}, indices(t, 11));
    if (!backward) {
      const tensor table = stored(f_.in, {entries, D}, random_.draw(11 * d, spread_, d));
      values y(n);
      for (std::size_t i = 0; i < n; ++i)
        y[i] = table.values[static_cast<std::size_t>(ids.values[i / d]) * d + i % d];
      e.read(ids).read(table, role::weight).write(out({T, D}, y));
      return;
    }
    const tensor dy = in();
    std::vector<A> s(11 * d, 0);
    for (std::size_t i = 0; i < n; ++i)
      s[static_cast<std::size_t>(ids.values[i / d]) * d + i % d] += at(dy, i);
    e.read(ids).read(dy).write(out({entries, D}, values(s.begin(), s.end())), role::gradient);
  }

  void step(execution& e) {
    const double lr = 1e-3, b1 = 0.9, b2 = 0.95, eps = 1e-8, decay = 0.1,
                 t = static_cast<double>(random_.between(1, 400));
    const dtype state = f_.accumulate;
    const tensor p = in(), g = in();
    const tensor m = stored(state, {T, D}, random_.draw(n, spread_of::normal)),
                 v = stored(state, {T, D}, random_.draw(n, spread_of::positive));
    values np(n), nm(n), nv(n);
    for (std::size_t i = 0; i < n; ++i) {
      const A a = A(b1) * at(m, i) + A(1 - b1) * at(g, i),
              b = A(b2) * at(v, i) + A(1 - b2) * at(g, i) * at(g, i);
      const A step =
          a / A(1 - std::pow(b1, t)) / (std::sqrt(b / A(1 - std::pow(b2, t))) + A(eps)) + A(decay) * at(p, i);
      nm[i] = a;
      nv[i] = b;
      np[i] = at(p, i) - A(lr) * step;
    }
    e.read(p, role::weight).read(g).read(m, role::state).read(v, role::state);
    for (const auto& [name, value] : std::map<std::string, double>{
             {"lr", lr}, {"beta1", b1}, {"beta2", b2}, {"eps", eps}, {"weight_decay", decay}, {"update", t}})
      e.scalar(name, value);
    e.write(out({T, D}, np))
        .write(stored(state, {T, D}, nm), role::state)
        .write(stored(state, {T, D}, nv), role::state);
  }

  sampler& random_;
  formats f_;
  spread_of spread_;
  std::int64_t T, D;
  std::size_t n;
};

inline execution honest(const std::string& kind, sampler& random, const formats& f, spread_of spread,
                        std::int64_t rows, std::int64_t width) {
  if (f.accumulate == dtype::f64) return honest_kernels<double>(random, f, spread, rows, width).run(kind);
  return honest_kernels<float>(random, f, spread, rows, width).run(kind);
}

}  // namespace numdiff::test
