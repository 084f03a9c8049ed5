#include "experts.hpp"

#include "linear.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

std::string scope_of(const expert_rows& rows) {
  return "expert." + std::to_string(rows.expert);
}

// One matrix [rows, columns] for each token.
matrices each_token(std::int64_t tokens, std::int64_t rows, std::int64_t columns) {
  matrices m{rows, columns, columns, 1, tokens, 1, rows * columns, 0};
  m.by_token = true;
  return m;
}

// The fault wrong-expert: on the first rank the weights of the next expert.
parameter& weights_of(const engine& e, layer_parameters& w, parameter expert_parameters::*which,
                      std::size_t i) {
  const std::size_t n = w.experts.size();
  const bool next = e.faulty("wrong-expert") && e.world.rank() == 0;
  return w.experts[next ? (i + 1) % n : i].*which;
}

}  // namespace

tensor experts_forward(const engine& e, layer_parameters& w, const tensor& x, experts_memory& memory) {
  const std::int64_t tokens = x.rows(), d = x.columns(), n = e.config.experts;
  memory.x = x;
  const tensor& router = cast_weight(e, w.router);
  const tensor logits =
      product(e, "router", {x, matrix(tokens, d), "x"}, {router, matrix(d, n), "w", operand::weight},
              {e.real, {tokens, n}, matrix(tokens, n), e.tokens()});
  const top_choices best = top_k(e, "router.top", logits, choices);
  memory.chosen = best.places;
  memory.gates = softmax(e, "router.gates", best.values);
  memory.ways = {routing(e, best.places)};
  const routing& way = memory.ways.front();
  const std::vector<tensor> parts = way.dispatch(e, "experts.dispatch", x, carries::nothing);
  std::vector<tensor> made;
  memory.experts.resize(parts.size());
  for (std::size_t i = 0; i < parts.size(); ++i) {
    NUMDIFF_SCOPE(scope_of(way.mine()[i]).c_str());
    experts_memory::one& one = memory.experts[i];
    const placement rows = routing::by_token(e, way.mine()[i]);
    one.x = parts[i];
    one.gate = linear_forward(e, weights_of(e, w, &expert_parameters::gate, i), one.x, rows);
    one.up = linear_forward(e, w.experts[i].up, one.x, rows);
    one.hidden = swiglu(e, "mlp.swiglu", one.gate, one.up);
    made.push_back(linear_forward(e, w.experts[i].down, one.hidden, rows));
  }
  memory.made = way.combine(e, "experts.combine", made, carries::nothing);
  return product(e, "experts.sum", {memory.gates, each_token(tokens, 1, choices), "gates"},
                 {memory.made, each_token(tokens, choices, d), "y"},
                 {e.storage, {tokens, d}, each_token(tokens, 1, d), e.tokens()});
}

tensor experts_backward(const engine& e, layer_parameters& w, const tensor& dy,
                        const experts_memory& memory) {
  const std::int64_t tokens = dy.rows(), d = dy.columns(), n = e.config.experts;
  const routing& way = memory.ways.front();
  const tensor dgates = product(
      e, "experts.dgates", {dy, each_token(tokens, 1, d), "dy", operand::gradient},
      {memory.made, each_token(tokens, choices, d).transposed(), "y"},
      {e.storage, memory.gates.extents, each_token(tokens, 1, choices), e.tokens(), carries::loss_scale});
  const tensor dmade = product(
      e, "experts.dy", {memory.gates, each_token(tokens, 1, choices).transposed(), "gates"},
      {dy, each_token(tokens, 1, d), "dy", operand::gradient},
      {e.storage, {tokens, choices, d}, each_token(tokens, choices, d), e.tokens(), carries::loss_scale});
  std::vector<tensor> parts = way.dispatch(e, "experts.combine.gradient", dmade, carries::loss_scale);
  std::vector<tensor> back;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    NUMDIFF_SCOPE(scope_of(way.mine()[i]).c_str());
    const experts_memory::one& one = memory.experts[i];
    const placement rows = routing::by_token(e, way.mine()[i]);
    parts[i].place = rows;
    const tensor dhidden = linear_backward(e, w.experts[i].down, parts[i], one.hidden, {}, rows);
    const swiglu_gradients g = swiglu_gradient(e, "mlp.swiglu.gradient", dhidden, one.gate, one.up);
    const tensor from_gate = linear_backward(e, w.experts[i].gate, g.dgate, one.x, {}, rows);
    const tensor from_up = linear_backward(e, w.experts[i].up, g.dup, one.x, {}, rows);
    back.push_back(add(e, "mlp.dx", {&from_gate, &from_up}, carries::loss_scale));
  }
  const tensor dchoices = way.combine(e, "experts.dispatch.gradient", back, carries::loss_scale);
  const tensor from_experts = sum_choices(e, "experts.dx", dchoices);

  // The chosen logits are those that the gates' gradient goes to.
  const tensor dtop = softmax_gradient(e, "router.gates.gradient", dgates, memory.gates);
  const tensor onehot = one_hot(e, memory.chosen, n);
  const tensor dlogits =
      product(e, "router.top.gradient", {dtop, each_token(tokens, 1, choices), "dy", operand::gradient},
              {onehot, each_token(tokens, choices, n), "chosen"},
              {e.storage, {tokens, n}, each_token(tokens, 1, n), e.tokens(), carries::loss_scale});
  w.router.gradient = product(e, "router.dw", {memory.x, matrix(tokens, d).transposed(), "x"},
                              {dlogits, matrix(tokens, n), "dy", operand::gradient},
                              {e.storage, {d, n}, matrix(d, n), e.gradient(-1), carries::loss_scale});
  const tensor from_router =
      product(e, "router.dx", {dlogits, matrix(tokens, n), "dy", operand::gradient},
              {compute_weight(w.router), matrix(d, n).transposed(), "w", operand::weight},
              {e.storage, {tokens, d}, matrix(tokens, d), e.tokens(), carries::loss_scale});
  return add(e, "mlp.dx", {&from_experts, &from_router}, carries::loss_scale);
}

}  // namespace minigpt
