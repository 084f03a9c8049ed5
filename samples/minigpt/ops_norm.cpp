#include "kernels.hpp"
#include "ops.hpp"
#include "views.hpp"

#include "numdiff/decode.hpp"
#include "numdiff/encode.hpp"

namespace minigpt {
namespace {

// The fault naive-variance: E[x^2] - E[x]^2 with both sums held in bf16.
template <class T>
void naive_layer_norm(std::int64_t rows, std::int64_t d, const T* x, const T* gamma, const T* beta, T* y) {
  const auto bf16 = [](T v) {
    return static_cast<T>(numdiff::decode_as<dtype::bf16>(numdiff::encode_as<dtype::bf16>(v)));
  };
  for (std::int64_t r = 0; r < rows; ++r, x += d, y += d) {
    T sum = 0, squares = 0;
    for (std::int64_t i = 0; i < d; ++i) {
      sum = bf16(sum + x[i]);
      squares = bf16(squares + x[i] * x[i]);
    }
    const T mean = bf16(sum / T(d)), variance = bf16(bf16(squares / T(d)) - bf16(mean * mean));
    const T rstd = T(1) / std::sqrt((variance > 0 ? variance : T(0)) + T(norm_epsilon));
    for (std::int64_t i = 0; i < d; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
  }
}

}  // namespace

tensor norm(const engine& e, const std::string& name, const tensor& x, const tensor& gamma,
            const tensor& beta) {
  tensor y = like(x, e.storage);
  const std::int64_t rows = x.rows(), d = x.columns();
  with_real(e, [&]<class T>() {
    const std::vector<T> in = decode<T>(x), g = decode<T>(gamma);
    std::vector<T> out(in.size());
    if (beta.codes.empty()) {
      kernels::rms_norm(rows, d, in.data(), g.data(), T(norm_epsilon), out.data());
    } else {
      const std::vector<T> b = decode<T>(beta);
      if (e.faulty("naive-variance"))
        naive_layer_norm(rows, d, in.data(), g.data(), b.data(), out.data());
      else
        kernels::layer_norm(rows, d, in.data(), g.data(), b.data(), T(norm_epsilon), out.data());
    }
    encode(out, y);
  });
  const auto tell = [&](auto& op) {
    NUMDIFF_INPUT(op, "x", view_of(x));
    NUMDIFF_WEIGHT(op, "gamma", view_of(gamma));
    if (!beta.codes.empty()) NUMDIFF_WEIGHT(op, "beta", view_of(beta));
    NUMDIFF_SCALAR(op, "eps", norm_epsilon);
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  };
  const auto formats = numdiff::dtypes(x.type, e.real, y.type);
  if (beta.codes.empty()) {
    NUMDIFF_OP(op, name.c_str(), rms_norm, formats);
    tell(op);
  } else {
    NUMDIFF_OP(op, name.c_str(), layer_norm, formats);
    tell(op);
  }
  return y;
}

norm_gradients norm_gradient(const engine& e, const std::string& name, const tensor& dy, const tensor& x,
                             const tensor& gamma, const tensor& beta) {
  norm_gradients g{like(x, e.storage), like(gamma, e.storage), {}};
  g.dgamma.place = e.gradient(-1);  // over its own tokens
  const bool layer = !beta.codes.empty();
  if (layer) g.dbeta = g.dgamma;
  const std::int64_t rows = x.rows(), d = x.columns();
  with_real(e, [&]<class T>() {
    const std::vector<T> in = decode<T>(x), upstream = decode<T>(dy), scale = decode<T>(gamma);
    std::vector<T> dx(in.size()), dgamma(scale.size()), dbeta(scale.size());
    if (layer)
      kernels::layer_norm_gradient(rows, d, upstream.data(), in.data(), scale.data(), T(norm_epsilon),
                                   dx.data(), dgamma.data(), dbeta.data());
    else
      kernels::rms_norm_gradient(rows, d, upstream.data(), in.data(), scale.data(), T(norm_epsilon),
                                 dx.data(), dgamma.data());
    encode(dx, g.dx);
    encode(dgamma, g.dgamma);
    if (layer) encode(dbeta, g.dbeta);
  });
  const auto tell = [&](auto& op) {
    NUMDIFF_INPUT(op, "dy", view_of(dy).carries_factors());
    NUMDIFF_INPUT(op, "x", view_of(x));
    NUMDIFF_WEIGHT(op, "gamma", view_of(gamma));
    NUMDIFF_SCALAR(op, "eps", norm_epsilon);
    NUMDIFF_GRADIENT(op, "dx", view_of(g.dx));
    NUMDIFF_GRADIENT(op, "dgamma", view_of(g.dgamma));
    if (layer) NUMDIFF_GRADIENT(op, "dbeta", view_of(g.dbeta));
  };
  const auto formats = numdiff::dtypes(dy.type, e.real, g.dx.type);
  if (layer) {
    NUMDIFF_OP(op, name.c_str(), layer_norm_gradient, formats);
    tell(op);
  } else {
    NUMDIFF_OP(op, name.c_str(), rms_norm_gradient, formats);
    tell(op);
  }
  return g;
}

}  // namespace minigpt
