#pragma once
// The network: embedding, layers, final norm, logits, loss; and back.
#include "attention.hpp"
#include "mlp.hpp"

namespace minigpt {

// What a step trains on: ids and the next bytes for the rows of the residual stream, positions for those of
// products.
struct token_batch {
  tensor ids, targets, positions;
};

class network {
 public:
  explicit network(const engine& e) : weights_(e) {}

  [[nodiscard]] parameters& weights() { return weights_; }
  // Of the engine's micro-batch; on the last stage the mean cross-entropy over its tokens on all ranks,
  // elsewhere 0.
  double forward(engine& e, const token_batch& batch);
  // Of the last forward pass: the share of this rank's targets among the `top_k` likeliest tokens, -1 on
  // other stages than the last.
  [[nodiscard]] double top_k_hits() const { return top_k_hits_; }
  // Fills the gradients, multiplied by the engine's loss scale and not yet reduced over data-parallel ranks.
  void backward(engine& e);

 private:
  struct layer_memory {
    attention_memory attention;
    mlp_memory mlp;

    void forget();  // everything but what the layer read
  };
  // What the backward pass needs of the forward pass.
  struct micro_batch {
    token_batch batch;
    std::vector<layer_memory> layers;
    tensor last, normal, logits;
  };

  micro_batch& pass(const engine& e) { return passes_[static_cast<std::size_t>(e.micro_batch)]; }
  tensor layer_forward(const engine& e, std::int64_t layer, const tensor& in);
  double loss_of(const engine& e, tensor x);
  tensor loss_gradient(const engine& e);

  parameters weights_;
  std::vector<micro_batch> passes_;
  double top_k_hits_ = -1;
};

}  // namespace minigpt
