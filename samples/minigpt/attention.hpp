#pragma once
// One attention block: norm, q, k, v, RoPE, scores, mask, softmax, values, projection, residual.
#include "parameters.hpp"

namespace minigpt {

// What the backward pass needs of the forward pass.
struct attention_memory {
  tensor x, normal, q, k, v, p, heads;
};

tensor attention_forward(const engine& e, layer_parameters& w, const tensor& x, const tensor& positions,
                         attention_memory& memory);
tensor attention_backward(const engine& e, layer_parameters& w, const tensor& dy, const tensor& positions,
                          const attention_memory& memory);

}  // namespace minigpt
