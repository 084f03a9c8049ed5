#pragma once
// One MLP block: norm, gate and up, SwiGLU, down, residual.
#include "experts.hpp"

namespace minigpt {

struct mlp_memory {
  tensor x, normal, gate, up, hidden;
  experts_memory experts;
};

tensor mlp_forward(const engine& e, layer_parameters& w, const tensor& x, mlp_memory& memory);
tensor mlp_backward(const engine& e, layer_parameters& w, const tensor& dy, const mlp_memory& memory);

}  // namespace minigpt
