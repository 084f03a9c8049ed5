#pragma once
// From the gradients of the backward pass to new weights: reduce over data-parallel ranks, take the loss
// scale out, clip by the norm, AdamW.
#include "parameters.hpp"

namespace minigpt {

struct step_result {
  double norm;   // of all gradients, before clipping
  bool applied;  // false: a gradient was not finite, nothing was updated
};

// Gradients of data-parallel ranks are added up.
void reduce_gradients(engine& e, parameters& weights);
// `e.update` counts up when the step is applied; fp16 changes the loss scale.
step_result optimize(engine& e, parameters& weights);

}  // namespace minigpt
