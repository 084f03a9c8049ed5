#pragma once
// y = x W of one weight, forward and backward, with FP8 operands where the run asks for them.
#include "ops.hpp"
#include "parameters.hpp"

namespace minigpt {

// An FP8 copy of an activation or gradient, empty where products read it as it is.
tensor quantised_rows(const engine& e, const std::string& name, const tensor& x, carries factors);
tensor quantised_columns(const engine& e, const std::string& name, const tensor& x, carries factors);

// What a product reads: the copy, or the tensor itself.
inline const tensor& either(const tensor& quantised, const tensor& x) {
  return quantised.codes.empty() ? x : quantised;
}

// x [tokens, in] or its quantised rows.
tensor linear_forward(const engine& e, parameter& p, const tensor& x, const placement& place);

// Gradient of x [tokens, in]; `x_columns` is x or its transposed quantised copy. Sets p.gradient.
tensor linear_backward(const engine& e, parameter& p, const tensor& dy, const tensor& x,
                       const tensor& x_columns, const placement& place);

}  // namespace minigpt
