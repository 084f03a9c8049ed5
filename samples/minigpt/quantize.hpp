#pragma once
// FP8 operands: an op of kind cast for each, after an op of kind amax where one scale spans the tensor.
#include "ops.hpp"

namespace minigpt {

struct quantize_request {
  std::string name;     // of the ops
  bool weight = false;  // blocks of 128 x 128 in the block recipe
  bool transposed = false;
  int contraction =
      1;  // dimension of the result that the product sums over: 1 of a left, 0 of a right operand
  bool backward = false;  // E5M2 with the tensor and delayed recipes
  carries factors = carries::nothing;
};

// x, or x transposed, as a dense FP8 matrix with the scales of the run's recipe.
tensor quantize(const engine& e, const tensor& x, const quantize_request& r);

}  // namespace minigpt
