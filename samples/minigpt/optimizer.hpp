#pragma once
// From the gradients of the backward pass to new weights: reduce over data-parallel ranks, take the loss
// scale out, clip by the norm, AdamW.
#include "parameters.hpp"

namespace minigpt {

struct step_result {
  double norm;   // of all gradients, before clipping
  bool applied;  // false: a gradient was not finite, nothing was updated
};

// With a sharded optimizer, before the first step: keeps this rank's pieces of the states and master weights.
void shard_states(const engine& e, parameters& weights);
// After the backward pass of a micro-batch: adds its gradients to those of the others.
void accumulate(const engine& e, parameters& weights);
// Gradients are averaged over micro-batches, and those of data-parallel ranks are added up; of a sharded
// optimizer the pieces that it needs.
void reduce_gradients(engine& e, parameters& weights);
// `e.update` counts up when the step is applied; fp16 changes the loss scale.
step_result optimize(engine& e, parameters& weights);

}  // namespace minigpt
