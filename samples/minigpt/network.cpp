#include "network.hpp"

#include "collectives.hpp"
#include "ops.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

std::string layer_scope(std::int64_t layer) {
  return "layer." + std::to_string(layer);
}

}  // namespace

void network::layer_memory::forget() {
  tensor x = std::move(attention.x);
  *this = {};
  attention.x = std::move(x);
}

tensor network::layer_forward(const engine& e, std::size_t l, const tensor& in) {
  NUMDIFF_SCOPE(layer_scope(e.layer).c_str());
  const tensor x = attention_forward(e, weights_.layers[l], in, batch_.positions, memory_[l].attention);
  return mlp_forward(e, weights_.layers[l], x, memory_[l].mlp);
}

double network::forward(engine& e, const token_batch& batch) {
  NUMDIFF_PHASE(forward);
  NUMDIFF_SCOPE("decoder");
  batch_ = batch;
  memory_.assign(weights_.layers.size(), {});
  tensor x = embedding(e, batch.ids, cast_weight(e, weights_.embedding));
  for (std::size_t l = 0; l < memory_.size(); ++l) {
    e.layer = static_cast<std::int64_t>(l);
    x = layer_forward(e, l, x);
    if (e.config.recompute) memory_[l].forget();
  }
  e.layer = -1;
  NUMDIFF_SCOPE("final");
  last_ = x;
  normal_ = norm(e, "final.norm", last_, weights_.final_norm.value, weights_.final_norm_beta.value);
  const tensor& w = cast_weight(e, weights_.logits);
  const std::int64_t tokens = x.rows(), d = x.columns();
  logits_ = product(e, "logits", {normal_, matrix(tokens, d), "x"},
                    {w, matrix(d, vocabulary), "w", operand::weight},
                    {e.real, {tokens, vocabulary}, matrix(tokens, vocabulary), e.residual()});
  tensor loss = cross_entropy(e, logits_, batch.targets);
  return first_value(all_reduce_mean(e, e.residual_ranks(), "loss.reduce", std::move(loss), x.rows()));
}

void network::backward(engine& e) {
  NUMDIFF_PHASE(backward);
  NUMDIFF_SCOPE("decoder");
  tensor dx;
  {
    NUMDIFF_SCOPE("final");
    const tensor dlogits = cross_entropy_gradient(e, logits_, batch_.targets);
    const std::int64_t tokens = normal_.rows(), d = normal_.columns();
    weights_.logits.gradient =
        product(e, "logits.dw", {normal_, matrix(tokens, d).transposed(), "x"},
                {dlogits, matrix(tokens, vocabulary), "dy", operand::gradient},
                {e.storage, {d, vocabulary}, matrix(d, vocabulary), e.gradient(-1), carries::loss_scale});
    const tensor dnormal =
        product(e, "logits.dx", {dlogits, matrix(tokens, vocabulary), "dy", operand::gradient},
                {compute_weight(weights_.logits), matrix(d, vocabulary).transposed(), "w", operand::weight},
                {e.storage, {tokens, d}, matrix(tokens, d), e.residual(), carries::loss_scale});
    norm_gradients g = norm_gradient(e, "final.norm.gradient", dnormal, last_, weights_.final_norm.value,
                                     weights_.final_norm_beta.value);
    weights_.final_norm.gradient = std::move(g.dgamma);
    weights_.final_norm_beta.gradient = std::move(g.dbeta);
    dx = std::move(g.dx);
  }
  for (std::size_t l = memory_.size(); l-- > 0;) {
    e.layer = static_cast<std::int64_t>(l);
    if (e.config.recompute) {
      NUMDIFF_PHASE(recompute);
      e.recomputing = true;
      layer_forward(e, l, tensor(memory_[l].attention.x));
      e.recomputing = false;
    }
    NUMDIFF_SCOPE(layer_scope(e.layer).c_str());
    dx = mlp_backward(e, weights_.layers[l], dx, memory_[l].mlp);
    dx = attention_backward(e, weights_.layers[l], dx, batch_.positions, memory_[l].attention);
  }
  e.layer = -1;
  weights_.embedding.gradient = embedding_gradient(e, batch_.ids, dx, weights_.embedding.value.extents);
}

}  // namespace minigpt
