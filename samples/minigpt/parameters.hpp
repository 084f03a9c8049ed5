#pragma once
// Weights: a master copy that the optimizer updates, its states, and the gradient of the step.
#include <string>
#include <vector>

#include "engine.hpp"

namespace minigpt {

struct parameter {
  std::string scope, name;  // "decoder.layer.3.attn", "attn.q"
  std::int64_t layer = -1;  // -1 outside any
  int tp_dimension = -1;    // along which tensor-parallel ranks hold shards, -1: all hold it whole
  bool decays = true;
  bool of_expert = false;  // held by one data-parallel rank, which has the gradient of all tokens
  tensor value, m, v;      // master format; with a sharded optimizer m and v are this rank's pieces,
  tensor owned;            // and this is that of the value
  tensor compute;          // what products read in this step; empty where that is the master copy
  tensor gradient;         // of the micro-batch, set by the backward pass; then the mean over micro-batches
  tensor accumulated;      // the sum over micro-batches so far

  [[nodiscard]] bool exists() const { return !value.codes.empty(); }
};

struct expert_parameters {
  parameter gate, up, down;
};

struct layer_parameters {
  parameter norm1, norm1_beta, q, k, v, proj;
  parameter norm2, norm2_beta, gate, up, down;
  // In place of the last three; the experts of this rank.
  parameter router;
  std::vector<expert_parameters> experts;
};

struct parameters {
  parameter embedding, final_norm, final_norm_beta, logits;
  std::vector<layer_parameters> layers;

  // Draws the same global weights on every layout of ranks and keeps this rank's shards.
  explicit parameters(const engine& e);

  // In the order of the backward pass's scopes: embedding, layers, final. Betas only with LayerNorm.
  [[nodiscard]] std::vector<parameter*> all();
};

inline constexpr std::int64_t vocabulary = 256;

// Products read weights in the storage format. The forward pass casts the master copy, where they differ.
const tensor& cast_weight(const engine& e, parameter& p);
const tensor& compute_weight(const parameter& p);

// FNV-1a over the master weights of this rank.
std::uint64_t digest(parameters& p);

}  // namespace minigpt
