#pragma once
// Softmax and cross-entropy over the last dimension, in the run's way of adding up.
#include <algorithm>
#include <cmath>
#include <string>

#include "measure/benign/program.hpp"

namespace benign {

template <class A>
values softmax(const program& p, const tensor& x, A scale) {
  const auto w = static_cast<std::size_t>(x.last());
  values y(x.size());
  for (std::size_t i = 0; i < x.size(); i += w) {
    A top = scale * static_cast<A>(x[i]);
    for (std::size_t j = 1; j < w; ++j) top = std::max(top, scale * static_cast<A>(x[i + j]));
    const auto e = [&](std::size_t j) { return std::exp(scale * static_cast<A>(x[i + j]) - top); };
    const A sum = sum_of<A>(p.adds, w, e);
    for (std::size_t j = 0; j < w; ++j) y[i + j] = e(j) / sum;
  }
  return y;
}

// The mean over rows.
template <class A>
double cross_entropy(const program& p, const tensor& x, const tensor& targets) {
  const auto w = static_cast<std::size_t>(x.last());
  const std::size_t r = x.size() / w;
  const A total = sum_of<A>(p.adds, r, [&](std::size_t i) {
    const auto at = [&](std::size_t j) { return static_cast<A>(x[i * w + j]); };
    A top = at(0);
    for (std::size_t j = 1; j < w; ++j) top = std::max(top, at(j));
    const A sum = sum_of<A>(p.adds, w, [&](std::size_t j) { return std::exp(at(j) - top); });
    return std::log(sum) + top - at(static_cast<std::size_t>(targets[i]));
  });
  return total / static_cast<A>(r);
}

// The loss of stored logits, recorded.
void record_loss(program& p, const std::string& name, const tensor& logits, const tensor& targets);

}  // namespace benign
