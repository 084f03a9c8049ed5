// The AdamW update of one tensor (Loshchilov and Hutter, 2019).
#include <cmath>
#include <utility>

#include "analysis/expect/kinds.hpp"
#include "analysis/expect/lost_steps.hpp"

namespace numdiff::analysis::expect {
namespace {

double square(double x) {
  return x * x;
}

struct operands {
  const tensor *p = nullptr, *g = nullptr, *m = nullptr, *v = nullptr;
  std::size_t at_p = 0, at_m = 0, at_v = 0;           // reads
  std::ptrdiff_t new_p = -1, new_m = -1, new_v = -1;  // writes
};

// p is the weight, g the input or gradient read, m and v the states in capture order.
operands operands_of(const call& c) {
  operands o;
  const auto role_of = [](const operand& x) {
    return x.row != nullptr ? static_cast<role>(x.row->role) : role::none;
  };
  for (std::size_t i = 0; i < c.op().reads.size(); ++i) {
    const tensor& t = c.read(i);
    if (role_of(c.op().reads[i]) == role::weight && o.p == nullptr) {
      o.p = &t, o.at_p = i;
    } else if (role_of(c.op().reads[i]) == role::state) {
      (o.m == nullptr ? o.at_m : o.at_v) = i;
      (o.m == nullptr ? o.m : o.v) = &t;
    } else if (o.g == nullptr) {
      o.g = &t;
    }
  }
  require(o.p != nullptr && o.g != nullptr && o.m != nullptr && o.v != nullptr,
          "weight, gradient or a state is not stored");
  for (std::size_t w = 0; w < c.writes(); ++w) {
    std::ptrdiff_t& which = role_of(c.op().writes[w]) != role::state ? o.new_p
                            : o.new_m < 0                            ? o.new_m
                                                                     : o.new_v;
    if (which < 0) which = static_cast<std::ptrdiff_t>(w);
    require(c.write(w).values.size() == o.p->values.size(), "operands of different size");
  }
  const std::size_t n = o.p->values.size();
  require(o.g->values.size() == n && o.m->values.size() == n && o.v->values.size() == n,
          "operands of different size");
  return o;
}

struct constants {
  double lr, b1, b2, eps, decay, t;
  explicit constants(const call& c)
      : lr(c.scalar("lr")),
        b1(c.scalar("beta1")),
        b2(c.scalar("beta2")),
        eps(c.scalar("eps")),
        decay(c.scalar("weight_decay", 0)),
        t(c.scalar("update")) {}
};

// The step p_new - p in units of the weight, from the states after the update.
template <class R>
R step_of(const constants& k, R p, R m, R v) {
  const R mhat = m / (1 - std::pow(static_cast<R>(k.b1), static_cast<R>(k.t)));
  const R vhat = v / (1 - std::pow(static_cast<R>(k.b2), static_cast<R>(k.t)));
  return -static_cast<R>(k.lr) *
         (mhat / (std::sqrt(vhat) + static_cast<R>(k.eps)) + static_cast<R>(k.decay) * p);
}

template <class R>
expectations updated(const call& c) {
  const operands o = operands_of(c);
  const constants k(c);
  const std::size_t n = o.p->values.size();
  expectations e(c.writes());
  for (expectation& x : e) x.resize(n, c.wide());
  const double u = c.unit(), rho = c.rho();
  // 1 - beta^t in the op's arithmetic: the rounding of beta^t over what is left of it.
  const auto correction = [&](double beta) {
    const double power = std::pow(beta, k.t);
    return u * (1 + power * (1 + 2 * k.t)) / (1 - power);
  };
  const double first = correction(k.b1), second = correction(k.b2) / 2;
  const std::vector<double>* stored_m =
      o.new_m >= 0 ? &c.write(static_cast<std::size_t>(o.new_m)).values : nullptr;
  const std::vector<double>* stored_v =
      o.new_v >= 0 ? &c.write(static_cast<std::size_t>(o.new_v)).values : nullptr;
  for (std::size_t i = 0; i < n; ++i) {
    const R p = static_cast<R>(o.p->values[i]), g = static_cast<R>(o.g->values[i]);
    const R m = static_cast<R>(k.b1) * static_cast<R>(o.m->values[i]) + (1 - static_cast<R>(k.b1)) * g;
    const R v = static_cast<R>(k.b2) * static_cast<R>(o.v->values[i]) + (1 - static_cast<R>(k.b2)) * g * g;
    const double old_m = std::fabs(k.b1 * o.m->values[i]), old_v = std::fabs(k.b2 * o.v->values[i]);
    const double size_g = std::fabs(o.g->values[i]);
    if (o.new_m >= 0) {
      expectation& x = e[static_cast<std::size_t>(o.new_m)];
      x.set(i, m, square(rho) * (square(old_m) + 2 * square((1 - k.b1) * size_g)));
      // 1 - beta inherits beta's rounding whole.
      x.allow(i, u * (old_m + (1 + k.b1) * size_g));
    }
    if (o.new_v >= 0) {
      expectation& x = e[static_cast<std::size_t>(o.new_v)];
      x.set(i, v, square(rho) * (square(old_v) + 3 * square((1 - k.b2) * size_g * size_g)));
      x.allow(i, u * (old_v + (1 + k.b2) * size_g * size_g));
    }
    if (o.new_p >= 0) {
      // The states as stored, so that their own errors stay theirs. A fused kernel uses them unrounded:
      // their rounding moves the step.
      const R next_m = stored_m != nullptr ? static_cast<R>((*stored_m)[i]) : m;
      const R next_v = stored_v != nullptr ? static_cast<R>((*stored_v)[i]) : v;
      const R step = c.step(1, step_of(k, p, next_m, next_v));
      const R unrounded = step_of(k, p, m, v);
      const double size = std::fabs(static_cast<double>(step)) + std::fabs(k.lr * k.decay * o.p->values[i]);
      expectation& x = e[static_cast<std::size_t>(o.new_p)];
      x.set(i, p + step, square(rho) * (9 * square(size) + square(k.decay != 0 ? o.p->values[i] : 0)));
      x.allow(i, size * (first + second + 2 * u) + std::fabs(static_cast<double>(step - unrounded)));
    }
  }
  return e;
}

}  // namespace

expectations adamw(const call& c) {
  expectations e = in_precision_of(c, [&]<class R>() { return updated<R>(c); });
  const operands o = operands_of(c);
  for (const auto& [written, from] : {std::pair(o.new_p, o.at_p), {o.new_m, o.at_m}, {o.new_v, o.at_v}}) {
    if (written < 0) continue;
    e[static_cast<std::size_t>(written)].review = [&c, from = from](const expectation& honest, judgement& j) {
      review_steps(c, c.op().reads[from], honest, j);
    };
  }
  if (o.new_p < 0) return e;
  expectation& weight = e[static_cast<std::size_t>(o.new_p)];
  for (const dtype t : {dtype::bf16, dtype::f16}) {
    const grid low = grid_of(t);
    const std::string name = name_of(t);
    weight.hypotheses.push_back({"lost-update", "the weight was rounded to " + name + " after the update",
                                 [low](const expectation& honest) {
                                   std::vector<double> values = honest.exact;
                                   for (double& x : values) x = low.round(x);
                                   return values;
                                 }});
    weight.hypotheses.push_back({"lost-update", "the weight was rounded to " + name + " before the update",
                                 [o, low](const expectation& honest) {
                                   std::vector<double> values = honest.exact;
                                   for (std::size_t i = 0; i < values.size(); ++i) {
                                     values[i] += low.round(o.p->values[i]) - o.p->values[i];
                                   }
                                   return values;
                                 }});
  }
  weight.hypotheses.push_back(
      {"lost-update", "the weight did not change", [o](const expectation&) { return o.p->values; }});
  return e;
}

}  // namespace numdiff::analysis::expect
