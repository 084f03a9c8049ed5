#include "network.hpp"

#include "collectives.hpp"
#include "ops.hpp"
#include "pipeline.hpp"
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

tensor network::layer_forward(const engine& e, std::int64_t layer, const tensor& in) {
  const auto l = static_cast<std::size_t>(layer);
  layer_memory& memory = pass(e).layers[l];
  NUMDIFF_SCOPE(layer_scope(layer).c_str());
  const tensor x = attention_forward(e, weights_.layers[l], in, pass(e).batch.positions, memory.attention);
  return mlp_forward(e, weights_.layers[l], x, memory.mlp);
}

double network::forward(engine& e, const token_batch& batch) {
  NUMDIFF_PHASE(forward);
  NUMDIFF_SCOPE("decoder");
  passes_.resize(static_cast<std::size_t>(e.config.micro_batches));
  pass(e).batch = batch;
  pass(e).layers.assign(weights_.layers.size(), {});
  tensor x = is_first_stage(e) ? embedding(e, batch.ids, cast_weight(e, weights_.embedding))
                               : receive_rows(e, carries::nothing);
  const auto [first, last] = layers_of_stage(e);
  for (e.layer = first; e.layer < last; ++e.layer) {
    x = layer_forward(e, e.layer, x);
    if (e.config.recompute) pass(e).layers[static_cast<std::size_t>(e.layer)].forget();
  }
  e.layer = -1;
  if (is_last_stage(e)) return loss_of(e, std::move(x));
  send_rows(e, x, carries::nothing);
  return 0;
}

double network::loss_of(const engine& e, tensor x) {
  NUMDIFF_SCOPE("final");
  micro_batch& p = pass(e);
  p.last = std::move(x);
  p.normal = norm(e, "final.norm", p.last, weights_.final_norm.value, weights_.final_norm_beta.value);
  const tensor& w = cast_weight(e, weights_.logits);
  const std::int64_t tokens = p.last.rows(), d = p.last.columns();
  p.logits = product(e, "logits", {p.normal, matrix(tokens, d), "x"},
                     {w, matrix(d, vocabulary), "w", operand::weight},
                     {e.real, {tokens, vocabulary}, matrix(tokens, vocabulary), e.residual()});
  if (e.config.top_k > 0) top_k_hits_ = top_k_share(e, p.logits, p.batch.targets, e.config.top_k);
  tensor loss = cross_entropy(e, p.logits, p.batch.targets);
  return first_value(all_reduce_mean(e, e.residual_ranks(), "loss.reduce", std::move(loss), tokens));
}

tensor network::loss_gradient(const engine& e) {
  NUMDIFF_SCOPE("final");
  const micro_batch& p = pass(e);
  const tensor dlogits = cross_entropy_gradient(e, p.logits, p.batch.targets);
  const std::int64_t tokens = p.normal.rows(), d = p.normal.columns();
  weights_.logits.gradient =
      product(e, "logits.dw", {p.normal, matrix(tokens, d).transposed(), "x"},
              {dlogits, matrix(tokens, vocabulary), "dy", operand::gradient},
              {e.storage, {d, vocabulary}, matrix(d, vocabulary), e.gradient(-1), carries::loss_scale});
  const tensor dnormal =
      product(e, "logits.dx", {dlogits, matrix(tokens, vocabulary), "dy", operand::gradient},
              {compute_weight(weights_.logits), matrix(d, vocabulary).transposed(), "w", operand::weight},
              {e.storage, {tokens, d}, matrix(tokens, d), e.residual(), carries::loss_scale});
  norm_gradients g = norm_gradient(e, "final.norm.gradient", dnormal, p.last, weights_.final_norm.value,
                                   weights_.final_norm_beta.value);
  weights_.final_norm.gradient = std::move(g.dgamma);
  weights_.final_norm_beta.gradient = std::move(g.dbeta);
  return std::move(g.dx);
}

void network::backward(engine& e) {
  NUMDIFF_PHASE(backward);
  NUMDIFF_SCOPE("decoder");
  tensor dx = is_last_stage(e) ? loss_gradient(e) : receive_rows(e, carries::loss_scale);
  const auto [first, last] = layers_of_stage(e);
  for (e.layer = last - 1; e.layer >= first; --e.layer) {
    const auto l = static_cast<std::size_t>(e.layer);
    if (e.config.recompute) {
      NUMDIFF_PHASE(recompute);
      e.recomputing = true;
      layer_forward(e, e.layer, tensor(pass(e).layers[l].attention.x));
      e.recomputing = false;
    }
    NUMDIFF_SCOPE(layer_scope(e.layer).c_str());
    dx = mlp_backward(e, weights_.layers[l], dx, pass(e).layers[l].mlp);
    dx = attention_backward(e, weights_.layers[l], dx, pass(e).batch.positions, pass(e).layers[l].attention);
  }
  e.layer = -1;
  if (is_first_stage(e))
    weights_.embedding.gradient =
        embedding_gradient(e, pass(e).batch.ids, dx, weights_.embedding.value.extents);
  else
    send_rows(e, dx, carries::loss_scale);
}

}  // namespace minigpt
