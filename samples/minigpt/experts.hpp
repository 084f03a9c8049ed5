#pragma once
// A layer of experts (Shazeer et al., 2017) in place of an MLP: a router sends every token to two of them,
// and what they make is added with the router's weights. Experts are spread over the data-parallel ranks.
#include "parameters.hpp"
#include "routing.hpp"

namespace minigpt {

struct experts_memory {
  std::vector<routing> ways;  // one, once the tokens are routed
  tensor x, gates, chosen, made;
  struct one {
    tensor x, gate, up, hidden;
  };
  std::vector<one> experts;
};

// x and the result [tokens, width].
tensor experts_forward(const engine& e, layer_parameters& w, const tensor& x, experts_memory& memory);
tensor experts_backward(const engine& e, layer_parameters& w, const tensor& dy, const experts_memory& memory);

}  // namespace minigpt
