#pragma once
// Pipeline stages: which layers a rank has, and activations and their gradients on their way to the
// neighbour.
#include <string>
#include <utility>

#include "ops.hpp"

namespace minigpt {

// Layers [first, second) of this rank's stage.
std::pair<std::int64_t, std::int64_t> layers_of_stage(const engine& e);
bool is_first_stage(const engine& e);
bool is_last_stage(const engine& e);

// Rows of the residual stream to the stage behind (forward) or before (backward), and from there. Both ranks
// record one op, named after the earlier stage.
void send_rows(const engine& e, const tensor& x, carries factors);
tensor receive_rows(const engine& e, carries factors);

// The last stage's number, on every stage.
double from_last_stage(const engine& e, double value);

}  // namespace minigpt
