#include "attention.hpp"

#include <cmath>

#include "collectives.hpp"
#include "linear.hpp"
#include "move_rows.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

struct sizes {
  std::int64_t batch, tokens, keys, heads, size;  // tokens of this rank, keys of all

  explicit sizes(const engine& e)
      : batch(e.local_batch()),
        tokens(e.product_rows()->positions_held()),
        keys(e.config.sequence),
        heads(e.local_heads()),
        size(e.config.width / e.config.heads) {}
  [[nodiscard]] matrices queries_by_head() const { return by_head(batch, tokens, heads, size); }
  [[nodiscard]] matrices keys_by_head() const { return by_head(batch, keys, heads, size); }
  [[nodiscard]] matrices scores() const { return stack(batch, heads, tokens, keys); }
  [[nodiscard]] shape score_extents() const { return {batch, heads, tokens, keys}; }
  [[nodiscard]] double alpha() const { return 1 / std::sqrt(double(size)); }
};

}  // namespace

tensor attention_forward(const engine& e, layer_parameters& w, const tensor& x, const tensor& positions,
                         attention_memory& memory) {
  NUMDIFF_SCOPE("attn");
  const sizes s(e);
  const placement sharded = e.tokens_and(1);
  memory.x = x;
  memory.normal = from_residual(e, "attn.norm.gather",
                                norm(e, "attn.norm", x, w.norm1.value, w.norm1_beta.value), carries::nothing);
  const tensor rows = quantised_rows(e, "attn.x", memory.normal, carries::nothing);
  const tensor& in = either(rows, memory.normal);
  memory.q = rope(e, "attn.rope_q", linear_forward(e, w.q, in, sharded), positions, carries::nothing);
  const row_owners context = context_owners(e);
  tensor k = rope(e, "attn.rope_k", linear_forward(e, w.k, in, sharded), positions, carries::nothing);
  memory.k = all_gather_rows(e, context, "attn.k.gather", std::move(k), carries::nothing,
                             e.faulty("wrong-context-order"));
  memory.v =
      all_gather_rows(e, context, "attn.v.gather", linear_forward(e, w.v, in, sharded), carries::nothing);

  const product_result scores_result{.type = e.storage,
                                     .extents = s.score_extents(),
                                     .layout = s.scores(),
                                     .place = sharded,
                                     .scale_after_store = e.faulty("score-overflow")};
  const tensor scores = product(e, "attn.scores", {memory.q, s.queries_by_head(), "q"},
                                {memory.k, s.keys_by_head().transposed(), "k"}, scores_result, s.alpha());
  memory.p = softmax(e, "attn.softmax", mask(e, "attn.mask", scores));
  memory.heads = product(e, "attn.values", {memory.p, s.scores(), "p"}, {memory.v, s.keys_by_head(), "v"},
                         {e.storage, memory.q.extents, s.queries_by_head(), sharded});
  const tensor heads_rows = quantised_rows(e, "attn.heads", memory.heads, carries::nothing);
  tensor y = linear_forward(e, w.proj, either(heads_rows, memory.heads), e.tokens_partial());
  y = to_residual(e, "attn.proj.reduce", std::move(y), carries::nothing, reduce_fault_here(e));
  y = dropout(e, "attn.dropout", "attn", std::move(y), carries::nothing);
  return residual(e, "attn.residual", x, y);
}

tensor attention_backward(const engine& e, layer_parameters& w, const tensor& dy, const tensor& positions,
                          const attention_memory& memory) {
  NUMDIFF_SCOPE("attn");
  const sizes s(e);
  const placement sharded = e.tokens_and(1);
  const auto back = [&](const operand& a, const operand& b, const char* name, const product_result& r,
                        double alpha) { return product(e, name, a, b, r, alpha); };
  const product_result like_queries{e.storage, memory.q.extents, s.queries_by_head(), sharded,
                                    carries::loss_scale};
  const product_result like_keys{e.storage, memory.k.extents, s.keys_by_head(), e.keys(spread::partial),
                                 carries::loss_scale};
  const product_result like_scores{e.storage, s.score_extents(), s.scores(), sharded, carries::loss_scale};

  const tensor heads_columns = quantised_columns(e, "attn.heads_columns", memory.heads, carries::nothing);
  const tensor kept =
      from_residual(e, "attn.dy.gather", dropout(e, "attn.dropout.gradient", "attn", dy, carries::loss_scale),
                    carries::loss_scale);
  const tensor dheads = linear_backward(e, w.proj, kept, memory.heads, heads_columns, sharded);
  const tensor dp = back({dheads, s.queries_by_head(), "dy", operand::gradient},
                         {memory.v, s.keys_by_head().transposed(), "v"}, "attn.values.dp", like_scores, 1);
  tensor dv = back({memory.p, s.scores().transposed(), "p"},
                   {dheads, s.queries_by_head(), "dy", operand::gradient}, "attn.values.dv", like_keys, 1);
  const tensor ds = softmax_gradient(e, "attn.softmax.gradient", dp, memory.p);
  const tensor dq = back({ds, s.scores(), "ds", operand::gradient}, {memory.k, s.keys_by_head(), "k"},
                         "attn.scores.dq", like_queries, s.alpha());
  tensor dk = back({ds, s.scores().transposed(), "ds", operand::gradient},
                   {memory.q, s.queries_by_head(), "q"}, "attn.scores.dk", like_keys, s.alpha());
  const row_owners context = context_owners(e);
  dv = reduce_scatter_rows(e, context, "attn.values.dv.reduce", std::move(dv), carries::loss_scale);
  dk = reduce_scatter_rows(e, context, "attn.scores.dk.reduce", std::move(dk), carries::loss_scale);

  const tensor columns = quantised_columns(e, "attn.x_columns", memory.normal, carries::nothing);
  const placement partial = e.tokens_partial();
  const tensor from_q =
      linear_backward(e, w.q, rope(e, "attn.rope_q.gradient", dq, positions, carries::loss_scale),
                      memory.normal, columns, partial);
  const tensor from_k =
      linear_backward(e, w.k, rope(e, "attn.rope_k.gradient", dk, positions, carries::loss_scale),
                      memory.normal, columns, partial);
  const tensor from_v = linear_backward(e, w.v, dv, memory.normal, columns, partial);
  tensor dnormal = add(e, "attn.dx", {&from_q, &from_k, &from_v}, carries::loss_scale);
  dnormal = to_residual(e, "attn.dx.reduce", std::move(dnormal), carries::loss_scale);
  norm_gradients g =
      norm_gradient(e, "attn.norm.gradient", dnormal, memory.x, w.norm1.value, w.norm1_beta.value);
  w.norm1.gradient = std::move(g.dgamma);
  w.norm1_beta.gradient = std::move(g.dbeta);
  return add(e, "attn.residual.gradient", {&dy, &g.dx}, carries::loss_scale);
}

}  // namespace minigpt
