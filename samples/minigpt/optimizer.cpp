#include "optimizer.hpp"

#include <cmath>

#include "collectives.hpp"
#include "flat_shards.hpp"
#include "ops_optimizer.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

constexpr std::int64_t growth_interval = 200;  // applied steps before the loss scale doubles

// Over shards and over what all tensor-parallel ranks hold apart, so that each element counts once.
tensor gradient_norm(const engine& e, const std::vector<parameter*>& list,
                     const std::vector<tensor>& gradients) {
  std::vector<squared> sharded, whole, experts;
  for (std::size_t i = 0; i < list.size(); ++i)
    (list[i]->of_expert           ? experts
     : list[i]->tp_dimension >= 0 ? sharded
                                  : whole)
        .push_back({list[i]->scope + "." + list[i]->name, gradients[i]});
  tensor squares = sum_of_squares(e, "norm.squares_sharded", sharded, e.squares(true));
  squares = all_reduce(e, e.config.zero ? e.world.over({axis::dp, axis::cp, axis::tp}) : e.world.tp(),
                       "norm.reduce", std::move(squares), carries::nothing);
  tensor rest = sum_of_squares(e, "norm.squares_whole", whole, e.squares(false));
  if (e.config.zero)
    rest = all_reduce(e, e.world.data(), "norm.reduce_whole", std::move(rest), carries::nothing);
  if (e.config.experts > 0) {
    placement over_ranks = e.squares(false);
    if (e.world.size(axis::dp) > 1) over_ranks[axis::dp] = {spread::partial, 0};
    tensor more = sum_of_squares(e, "norm.squares_experts", experts, over_ranks);
    more = all_reduce(e, e.world.dp(), "norm.reduce_experts", std::move(more), carries::nothing);
    rest = add(e, "norm.squares_rest", {&rest, &more}, carries::nothing);
  }
  tensor all = add(e, "norm.squares", {&squares, &rest}, carries::nothing);
  all = all_reduce(e, e.world.pp(), "norm.reduce_stages", std::move(all), carries::nothing);
  return square_root(e, "norm", all);
}

// The faults of a norm whose gradient is summed over row shards.
reduce_fault row_fault(const engine& e, const parameter& p) {
  if (p.name != "attn.norm") return reduce_fault::none;
  if (e.faulty("unreduced-norm-gradient")) return reduce_fault::missing;
  return e.faulty("averaged-norm-gradient") ? reduce_fault::average : reduce_fault::none;
}

void grow_loss_scale(engine& e) {
  if (e.config.numbers != precision::fp16) return;
  if (++e.good_steps == growth_interval) {
    e.loss_scale *= 2;
    e.good_steps = 0;
  }
}

}  // namespace

void accumulate(const engine& e, parameters& weights) {
  if (e.config.micro_batches == 1) return;
  NUMDIFF_PHASE(backward);
  for (parameter* p : weights.all()) {
    NUMDIFF_SCOPE(p->scope.c_str());
    p->accumulated = e.micro_batch == 0 ? p->gradient
                                        : add(e, p->name + ".gradient.accumulate",
                                              {&p->accumulated, &p->gradient}, carries::loss_scale);
  }
}

void reduce_gradients(engine& e, parameters& weights) {
  NUMDIFF_PHASE(communication);
  const std::vector<parameter*> list = weights.all();
  const flat_shards shards(e, list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    parameter* const p = list[i];
    NUMDIFF_SCOPE(p->scope.c_str());
    e.layer = p->layer;
    if (e.config.micro_batches > 1) p->gradient = mean_gradient(e, *p);
    if (p->tp_dimension < 0 && e.config.sequence_parallel)  // summed over this rank's rows only
      p->gradient = all_reduce(e, e.world.tp(), p->name + ".gradient.reduce_rows", std::move(p->gradient),
                               carries::loss_scale, row_fault(e, *p));
    if (p->of_expert) continue;
    const bool site = p->name == "attn.q" && e.world.tp().size() == 1;
    const std::string name = p->name + ".gradient.reduce";
    p->gradient = e.config.zero
                      ? shards.reduce_scatter(e, i, name, p->gradient)
                      : all_reduce(e, e.world.data(), name, std::move(p->gradient), carries::loss_scale,
                                   site ? reduce_fault_here(e) : reduce_fault::none);
  }
}

void shard_states(const engine& e, parameters& weights) {
  if (!e.config.zero) return;
  const std::vector<parameter*> list = weights.all();
  const flat_shards shards(e, list);
  for (std::size_t i = 0; i < list.size(); ++i) {
    parameter& p = *list[i];
    p.owned = shards.cut(e, i, p.value);
    p.m = p.v = shards.cut(e, i, p.m);
  }
}

step_result optimize(engine& e, parameters& weights) {
  NUMDIFF_PHASE(optimizer);
  const std::vector<parameter*> list = weights.all();
  const flat_shards shards(e, list);
  std::vector<tensor> gradients;
  for (const parameter* p : list) {
    NUMDIFF_SCOPE(p->scope.c_str());
    NUMDIFF_FACTOR("loss_scale", e.loss_scale);
    gradients.push_back(unscale(e, *p));
  }
  tensor norm;
  {
    NUMDIFF_SCOPE("optimizer");
    norm = gradient_norm(e, list, gradients);
  }
  const step_result result{first_value(norm), std::isfinite(first_value(norm))};
  if (!result.applied && e.config.numbers == precision::fp16) {
    NUMDIFF_SKIP_STEP();
    e.loss_scale /= 2;
    e.good_steps = 0;
    return result;
  }
  for (std::size_t i = 0; i < list.size(); ++i) {
    NUMDIFF_SCOPE(list[i]->scope.c_str());
    parameter& p = *list[i];
    adamw(e, p, clip_by_norm(e, p.name + ".clip", gradients[i], norm));
    if (e.config.zero) p.value = shards.all_gather(e, i, p.name + ".gather", p.owned);
  }
  ++e.update;
  grow_loss_scale(e);
  return {result.norm, true};
}

}  // namespace minigpt
