#include "optimizer.hpp"

#include <cmath>

#include "collectives.hpp"
#include "ops_optimizer.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

constexpr std::int64_t growth_interval = 200;  // applied steps before the loss scale doubles

// Over shards and over what all tensor-parallel ranks hold apart, so that each element counts once.
tensor gradient_norm(const engine& e, const std::vector<parameter*>& list,
                     const std::vector<tensor>& gradients) {
  std::vector<const tensor*> sharded, whole;
  for (std::size_t i = 0; i < list.size(); ++i)
    (list[i]->tp_dimension >= 0 ? sharded : whole).push_back(&gradients[i]);
  placement partial = e.everywhere();
  if (partial.tp.how != spread::whole) partial.tp = {spread::partial, 0};
  tensor squares = sum_of_squares(e, "norm.squares_sharded", sharded, partial);
  squares = all_reduce(e, e.world.tp(), "norm.reduce", std::move(squares), carries::nothing);
  const tensor rest = sum_of_squares(e, "norm.squares_whole", whole, e.everywhere());
  return square_root(e, "norm", add(e, "norm.squares", {&squares, &rest}, carries::nothing));
}

void grow_loss_scale(engine& e) {
  if (e.config.numbers != precision::fp16) return;
  if (++e.good_steps == growth_interval) {
    e.loss_scale *= 2;
    e.good_steps = 0;
  }
}

}  // namespace

void reduce_gradients(engine& e, parameters& weights) {
  if (e.world.dp().size() == 1) return;
  NUMDIFF_PHASE(communication);
  for (parameter* p : weights.all()) {
    NUMDIFF_SCOPE(p->scope.c_str());
    e.layer = p->layer;
    const bool site = p->name == "attn.q" && e.world.tp().size() == 1;
    p->gradient = all_reduce(e, e.world.dp(), p->name + ".gradient.reduce", std::move(p->gradient),
                             carries::loss_scale, site ? reduce_fault_here(e) : reduce_fault::none);
  }
}

step_result optimize(engine& e, parameters& weights) {
  NUMDIFF_PHASE(optimizer);
  const std::vector<parameter*> list = weights.all();
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
    adamw(e, *list[i], clip_by_norm(e, list[i]->name + ".clip", gradients[i], norm));
  }
  ++e.update;
  grow_loss_scale(e);
  return {result.norm, true};
}

}  // namespace minigpt
