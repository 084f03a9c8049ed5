#include "ops_optimizer.hpp"

#include <algorithm>
#include <cmath>

#include "kernels.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"
#include "ops.hpp"
#include "views.hpp"

namespace minigpt {

tensor unscale(const engine& e, const parameter& p) {
  const tensor& g = p.gradient;
  if (e.loss_scale == 1)
    return g.type == e.master ? g : cast(e, p.name + ".gradient.cast", g, e.master, carries::nothing);
  tensor y = like(g, e.master);
  with_real(e, [&]<class T>() {
    std::vector<T> x = decode<T>(g);
    for (T& v : x) v *= T(1 / e.loss_scale);
    encode(x, y);
  });
  NUMDIFF_OP(op, (p.name + ".gradient.unscale").c_str(), scale, numdiff::dtypes(g.type, e.real, y.type));
  NUMDIFF_INPUT(op, "x", view_of(g).carries_factors());
  NUMDIFF_SCALAR(op, "factor", 1 / e.loss_scale);
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor mean_gradient(const engine& e, const parameter& p) {
  const double share = 1 / double(e.config.micro_batches);
  tensor y = like(p.accumulated, p.accumulated.type);
  with_real(e, [&]<class T>() {
    std::vector<T> x = decode<T>(p.accumulated);
    // The fault undivided-gradients: the sum stays what it is.
    const bool divides = p.name != "attn.q" || !e.faulty("undivided-gradients");
    for (T& v : x) v *= divides ? T(share) : T(1);
    encode(x, y);
  });
  NUMDIFF_OP(op, (p.name + ".gradient.mean").c_str(), scale, numdiff::dtypes(y.type, e.real, y.type));
  NUMDIFF_INPUT(op, "x", view_of(p.accumulated).carries_factors());
  NUMDIFF_SCALAR(op, "factor", share);
  NUMDIFF_GRADIENT(op, "y", view_of(y));
  return y;
}

tensor sum_of_squares(const engine& e, const std::string& name, const std::vector<squared>& all,
                      const placement& place) {
  NUMDIFF_OP(op, name.c_str(), sum_of_squares, numdiff::dtypes(e.master, dtype::f64, e.master));
  double sum = 0;
  for (const squared& one : all) {
    NUMDIFF_INPUT(op, one.name.c_str(), view_of(one.values));
    for (double v : decode<double>(one.values)) sum += v * v;
  }
  tensor y(e.master, {}, place);
  encode(std::vector<double>{sum}, y);
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor square_root(const engine& e, const std::string& name, const tensor& x) {
  tensor y = like(x, x.type);
  with_real(e, [&]<class T>() { encode(std::vector<T>{std::sqrt(decode<T>(x)[0])}, y); });
  NUMDIFF_OP(op, name.c_str(), square_root, numdiff::dtypes(x.type, e.real, y.type));
  NUMDIFF_INPUT(op, "x", view_of(x));
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

tensor clip_by_norm(const engine& e, const std::string& name, const tensor& x, const tensor& norm) {
  tensor y = like(x, x.type);
  with_real(e, [&]<class T>() {
    std::vector<T> values = decode<T>(x);
    const T factor = std::min(T(1), T(e.config.max_norm) / decode<T>(norm)[0]);
    for (T& v : values) v *= factor;
    encode(values, y);
  });
  NUMDIFF_OP(op, name.c_str(), clip_by_norm, numdiff::dtypes(x.type, e.real, y.type));
  NUMDIFF_INPUT(op, "x", view_of(x));
  NUMDIFF_INPUT(op, "norm", view_of(norm));
  NUMDIFF_SCALAR(op, "max_norm", e.config.max_norm);
  NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

void adamw(const engine& e, parameter& p, const tensor& gradient) {
  constexpr double beta1 = 0.9, beta2 = 0.95, eps = 1e-8;
  const double decay = p.decays ? e.config.weight_decay : 0;
  const std::int64_t t = e.update + 1;
  tensor& updated = e.config.zero ? p.owned : p.value;
  NUMDIFF_OP(op, (p.name + ".adamw").c_str(), adamw, numdiff::dtypes(e.master, e.real, e.master));
  NUMDIFF_WEIGHT(op, "p", view_of(updated));
  NUMDIFF_INPUT(op, "g", view_of(gradient));
  NUMDIFF_STATE(op, "m", view_of(p.m));
  NUMDIFF_STATE(op, "v", view_of(p.v));
  NUMDIFF_SCALAR(op, "lr", e.config.learning_rate);
  NUMDIFF_SCALAR(op, "beta1", beta1);
  NUMDIFF_SCALAR(op, "beta2", beta2);
  NUMDIFF_SCALAR(op, "eps", eps);
  NUMDIFF_SCALAR(op, "weight_decay", decay);
  NUMDIFF_SCALAR(op, "update", t);
  with_real(e, [&]<class T>() {
    std::vector<T> value = decode<T>(updated), m = decode<T>(p.m), v = decode<T>(p.v);
    const std::vector<T> g = decode<T>(gradient);
    kernels::adamw(updated.count(), value.data(), g.data(), m.data(), v.data(), e.config.learning_rate, beta1,
                   beta2, eps, decay, t);
    // The fault bf16-weights: no master copy, the new weight is kept in bf16 only.
    if (p.name == "attn.q" && e.fault.here("bf16-weights", e.step, p.layer))
      for (T& x : value)
        x = static_cast<T>(numdiff::decode_as<dtype::bf16>(numdiff::encode_as<dtype::bf16>(x)));
    encode(value, updated);
    encode(m, p.m);
    encode(v, p.v);
  });
  NUMDIFF_OUTPUT(op, "p", view_of(updated));
  NUMDIFF_STATE(op, "m.new", view_of(p.m));
  NUMDIFF_STATE(op, "v.new", view_of(p.v));
}

}  // namespace minigpt
