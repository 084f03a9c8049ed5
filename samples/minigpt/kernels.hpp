#pragma once
// The mathematics on plain row-major arrays, forward and backward, in float or double. No numdiff here.
#include <cmath>
#include <cstdint>
#include <limits>

namespace minigpt::kernels {

using index = std::int64_t;

// y = gamma * x / sqrt(mean(x^2) + eps), row by row (Zhang and Sennrich, 2019).
template <class T>
void rms_norm(index rows, index d, const T* x, const T* gamma, T eps, T* y) {
  for (index r = 0; r < rows; ++r, x += d, y += d) {
    T squares = 0;
    for (index i = 0; i < d; ++i) squares += x[i] * x[i];
    const T rstd = T(1) / std::sqrt(squares / T(d) + eps);
    for (index i = 0; i < d; ++i) y[i] = x[i] * rstd * gamma[i];
  }
}

// dgamma is added to.
template <class T>
void rms_norm_gradient(index rows, index d, const T* dy, const T* x, const T* gamma, T eps, T* dx,
                       T* dgamma) {
  for (index r = 0; r < rows; ++r, x += d, dy += d, dx += d) {
    T squares = 0, dot = 0;
    for (index i = 0; i < d; ++i) {
      squares += x[i] * x[i];
      dot += dy[i] * gamma[i] * x[i];
    }
    const T rstd = T(1) / std::sqrt(squares / T(d) + eps);
    const T pull = dot * rstd * rstd / T(d);
    for (index i = 0; i < d; ++i) {
      dx[i] = rstd * (dy[i] * gamma[i] - x[i] * pull);
      dgamma[i] += dy[i] * x[i] * rstd;
    }
  }
}

// Mean and reciprocal deviation of one row, in two passes.
template <class T>
void moments(index d, const T* x, T eps, T& mean, T& rstd) {
  mean = 0;
  for (index i = 0; i < d; ++i) mean += x[i];
  mean /= T(d);
  T squares = 0;
  for (index i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean);
  rstd = T(1) / std::sqrt(squares / T(d) + eps);
}

// y = gamma * (x - mean) / sqrt(variance + eps) + beta (Ba et al., 2016).
template <class T>
void layer_norm(index rows, index d, const T* x, const T* gamma, const T* beta, T eps, T* y) {
  for (index r = 0; r < rows; ++r, x += d, y += d) {
    T mean, rstd;
    moments(d, x, eps, mean, rstd);
    for (index i = 0; i < d; ++i) y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i];
  }
}

// dgamma and dbeta are added to.
template <class T>
void layer_norm_gradient(index rows, index d, const T* dy, const T* x, const T* gamma, T eps, T* dx,
                         T* dgamma, T* dbeta) {
  for (index r = 0; r < rows; ++r, x += d, dy += d, dx += d) {
    T mean, rstd, sum = 0, dot = 0;
    moments(d, x, eps, mean, rstd);
    for (index i = 0; i < d; ++i) {
      sum += dy[i] * gamma[i];
      dot += dy[i] * gamma[i] * (x[i] - mean) * rstd;
    }
    for (index i = 0; i < d; ++i) {
      const T normal = (x[i] - mean) * rstd;
      dx[i] = rstd * (dy[i] * gamma[i] - sum / T(d) - normal * dot / T(d));
      dgamma[i] += dy[i] * normal;
      dbeta[i] += dy[i];
    }
  }
}

// Rotates the pairs (i, i + D/2) of x[token][head][D] by sign * position * base^(-2i/D) (Su et al., 2021).
// The angle is taken in double: a float phase loses the fraction of a large position.
template <class T>
void rope(index tokens, index heads, index d, const double* positions, double base, double sign, const T* x,
          T* y) {
  const index half = d / 2;
  for (index i = 0; i < half; ++i) {
    const double turn = sign * std::pow(base, -2.0 * double(i) / double(d));
    for (index t = 0; t < tokens; ++t) {
      const T c = T(std::cos(turn * positions[t])), s = T(std::sin(turn * positions[t]));
      for (index h = 0; h < heads; ++h) {
        const index at = (t * heads + h) * d + i;
        const T a = x[at], b = x[at + half];
        y[at] = a * c - b * s;
        y[at + half] = a * s + b * c;
      }
    }
  }
}

// Softmax over rows of n, shifted by the maximum. A row of -inf gives NaN.
template <class T>
void softmax(index rows, index n, const T* x, T* p) {
  for (index r = 0; r < rows; ++r, x += n, p += n) {
    T top = -std::numeric_limits<T>::infinity();
    for (index i = 0; i < n; ++i) top = x[i] > top ? x[i] : top;
    T sum = 0;
    for (index i = 0; i < n; ++i) sum += p[i] = std::exp(x[i] - top);
    for (index i = 0; i < n; ++i) p[i] /= sum;
  }
}

template <class T>
void softmax_gradient(index rows, index n, const T* dp, const T* p, T* dx) {
  for (index r = 0; r < rows; ++r, dp += n, p += n, dx += n) {
    T dot = 0;
    for (index i = 0; i < n; ++i) dot += dp[i] * p[i];
    for (index i = 0; i < n; ++i) dx[i] = p[i] * (dp[i] - dot);
  }
}

// y = silu(gate) * up (Shazeer, 2020).
template <class T>
void swiglu(index n, const T* gate, const T* up, T* y) {
  for (index i = 0; i < n; ++i) y[i] = gate[i] / (T(1) + std::exp(-gate[i])) * up[i];
}

template <class T>
void swiglu_gradient(index n, const T* dy, const T* gate, const T* up, T* dgate, T* dup) {
  for (index i = 0; i < n; ++i) {
    const T s = T(1) / (T(1) + std::exp(-gate[i]));
    dgate[i] = dy[i] * up[i] * s * (T(1) + gate[i] * (T(1) - s));
    dup[i] = dy[i] * gate[i] * s;
  }
}

// Sum over tokens of log(sum(exp(logits))) - logits[target], divided by `count`.
template <class T>
T cross_entropy(index tokens, index vocabulary, const T* logits, const std::int32_t* targets, T count) {
  T total = 0;
  for (index t = 0; t < tokens; ++t, logits += vocabulary) {
    T top = logits[0], sum = 0;
    for (index i = 1; i < vocabulary; ++i) top = logits[i] > top ? logits[i] : top;
    for (index i = 0; i < vocabulary; ++i) sum += std::exp(logits[i] - top);
    total += std::log(sum) + top - logits[targets[t]];
  }
  return total / count;
}

template <class T>
void cross_entropy_gradient(index tokens, index vocabulary, const T* logits, const std::int32_t* targets,
                            T count, T factor, T* dlogits) {
  for (index t = 0; t < tokens; ++t, logits += vocabulary, dlogits += vocabulary) {
    softmax<T>(1, vocabulary, logits, dlogits);
    dlogits[targets[t]] -= T(1);
    for (index i = 0; i < vocabulary; ++i) dlogits[i] = dlogits[i] / count * factor;
  }
}

// One step of AdamW (Loshchilov and Hutter, 2019); `t` counts updates from 1. The constants are
// taken in double: 1 - 0.999f is off by 5e-5.
template <class T>
void adamw(index n, T* p, const T* g, T* m, T* v, double lr, double beta1, double beta2, double eps,
           double decay, index t) {
  const T keep1 = T(beta1), take1 = T(1 - beta1), keep2 = T(beta2), take2 = T(1 - beta2);
  const T fix1 = T(1 - std::pow(beta1, double(t))), fix2 = T(1 - std::pow(beta2, double(t)));
  for (index i = 0; i < n; ++i) {
    m[i] = keep1 * m[i] + take1 * g[i];
    v[i] = keep2 * v[i] + take2 * g[i] * g[i];
    p[i] -= T(lr) * (m[i] / fix1 / (std::sqrt(v[i] / fix2) + T(eps)) + T(decay) * p[i]);
  }
}

}  // namespace minigpt::kernels
