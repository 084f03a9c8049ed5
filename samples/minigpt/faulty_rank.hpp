#pragma once
// Faults of one rank: at the beginning of a step the last rank of the world becomes unlike the others.
#include "parameters.hpp"

namespace minigpt {

// perturbed-weights changes one of its weights; flushing-rank flushes subnormal numbers from then on.
void plant_in_rank(const engine& e, parameters& weights);

}  // namespace minigpt
