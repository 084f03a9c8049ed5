#pragma once
// The middle parts of attention, recorded.
#include "measure/benign/program.hpp"

namespace benign {

// Scores [.., tokens, tokens] with -inf where a token would see later ones.
tensor causal_mask(program& p, const tensor& scores);
// Probabilities of masked scores.
tensor attention_weights(program& p, const tensor& masked);
// Gradient of masked scores from that of their probabilities.
tensor attention_weights_gradient(program& p, const tensor& weights, const tensor& dp);

}  // namespace benign
