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
  // Mean cross-entropy over all tokens of all ranks.
  double forward(engine& e, const token_batch& batch);
  // Fills the gradients, multiplied by the engine's loss scale and not yet reduced over data-parallel ranks.
  void backward(engine& e);

 private:
  struct layer_memory {
    attention_memory attention;
    mlp_memory mlp;

    void forget();  // everything but what the layer read
  };

  tensor layer_forward(const engine& e, std::size_t l, const tensor& in);

  parameters weights_;
  token_batch batch_;
  std::vector<layer_memory> memory_;
  tensor last_, normal_, logits_;
};

}  // namespace minigpt
