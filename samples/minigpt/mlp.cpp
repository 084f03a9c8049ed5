#include "mlp.hpp"

#include "collectives.hpp"
#include "linear.hpp"
#include "views.hpp"

namespace minigpt {

namespace {

tensor dense_forward(const engine& e, layer_parameters& w, mlp_memory& memory) {
  const placement sharded = e.tokens_and(1);
  const tensor rows = quantised_rows(e, "mlp.x", memory.normal, carries::nothing);
  const tensor& in = either(rows, memory.normal);
  memory.gate = linear_forward(e, w.gate, in, sharded);
  memory.up = linear_forward(e, w.up, in, sharded);
  memory.hidden = swiglu(e, "mlp.swiglu", memory.gate, memory.up);
  const tensor hidden_rows = quantised_rows(e, "mlp.hidden", memory.hidden, carries::nothing);
  return linear_forward(e, w.down, either(hidden_rows, memory.hidden), e.tokens_partial());
}

tensor dense_backward(const engine& e, layer_parameters& w, const tensor& dy, const mlp_memory& memory) {
  const placement sharded = e.tokens_and(1), partial = e.tokens_partial();
  const tensor hidden_columns = quantised_columns(e, "mlp.hidden_columns", memory.hidden, carries::nothing);
  const tensor dhidden = linear_backward(e, w.down, dy, memory.hidden, hidden_columns, sharded);
  const swiglu_gradients d = swiglu_gradient(e, "mlp.swiglu.gradient", dhidden, memory.gate, memory.up);
  const tensor columns = quantised_columns(e, "mlp.x_columns", memory.normal, carries::nothing);
  const tensor from_gate = linear_backward(e, w.gate, d.dgate, memory.normal, columns, partial);
  const tensor from_up = linear_backward(e, w.up, d.dup, memory.normal, columns, partial);
  return add(e, "mlp.dx", {&from_gate, &from_up}, carries::loss_scale);
}

}  // namespace

tensor mlp_forward(const engine& e, layer_parameters& w, const tensor& x, mlp_memory& memory) {
  NUMDIFF_SCOPE("mlp");
  memory.x = x;
  memory.normal = from_residual(e, "mlp.norm.gather",
                                norm(e, "mlp.norm", x, w.norm2.value, w.norm2_beta.value), carries::nothing);
  tensor y = e.config.experts > 0 ? experts_forward(e, w, memory.normal, memory.experts)
                                  : dense_forward(e, w, memory);
  y = to_residual(e, "mlp.down.reduce", std::move(y), carries::nothing);
  y = dropout(e, "mlp.dropout", "mlp", std::move(y), carries::nothing);
  return residual(e, "mlp.residual", x, y);
}

tensor mlp_backward(const engine& e, layer_parameters& w, const tensor& dy, const mlp_memory& memory) {
  NUMDIFF_SCOPE("mlp");
  const tensor kept =
      from_residual(e, "mlp.dy.gather", dropout(e, "mlp.dropout.gradient", "mlp", dy, carries::loss_scale),
                    carries::loss_scale);
  tensor dnormal = e.config.experts > 0 ? experts_backward(e, w, kept, memory.experts)
                                        : dense_backward(e, w, kept, memory);
  dnormal = to_residual(e, "mlp.dx.reduce", std::move(dnormal), carries::loss_scale);
  norm_gradients g =
      norm_gradient(e, "mlp.norm.gradient", dnormal, memory.x, w.norm2.value, w.norm2_beta.value);
  w.norm2.gradient = std::move(g.dgamma);
  w.norm2_beta.gradient = std::move(g.dbeta);
  return add(e, "mlp.residual.gradient", {&dy, &g.dx}, carries::loss_scale);
}

}  // namespace minigpt
