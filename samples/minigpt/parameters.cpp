#include "parameters.hpp"

#include <cmath>

#include "ops.hpp"
#include "pipeline.hpp"
#include "random.hpp"
#include "routing.hpp"

namespace minigpt {
namespace {

struct made {
  const engine& e;
  std::uint64_t next = 0;

  // Normal with this deviation; 0 deviation: all elements `fill`.
  parameter operator()(const std::string& scope, const std::string& name, std::int64_t layer, shape global,
                       int tp_dimension, double deviation, double fill) {
    parameter p;
    p.scope = scope;
    p.name = name;
    p.layer = layer;
    p.tp_dimension = tp_dimension;
    p.decays = deviation > 0;
    random_stream random(e.config.seed * 1000003 + ++next);
    const std::int64_t rows = global.size() == 2 ? global[0] : 1, columns = global.back();
    const group& tp = e.world.tp();
    const std::int64_t row_parts = tp_dimension == 0 ? tp.size() : 1;
    const std::int64_t column_parts = tp_dimension == 1 ? tp.size() : 1;
    const std::int64_t r0 = rows / row_parts * (row_parts > 1 ? tp.at : 0), r1 = r0 + rows / row_parts;
    const std::int64_t c0 = columns / column_parts * (column_parts > 1 ? tp.at : 0),
                       c1 = c0 + columns / column_parts;
    std::vector<double> mine;
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t c = 0; c < columns; ++c) {
        // Through float, so that fp64 and fp32 runs start from the same weights.
        const double x = deviation > 0 ? double(float(deviation * random.normal())) : fill;
        if (r >= r0 && r < r1 && c >= c0 && c < c1) mine.push_back(x);
      }
    if (tp_dimension >= 0) global[static_cast<std::size_t>(tp_dimension)] /= tp.size();
    p.value = tensor(e.master, global, e.weight(tp_dimension));
    p.m = p.v = p.value;
    encode(mine, p.value);
    return p;
  }
};

}  // namespace

parameters::parameters(const engine& e) {
  const options& o = e.config;
  made make{e};
  const double in = 1 / std::sqrt(double(o.width)), deep = std::sqrt(2.0 * double(o.layers));
  const bool beta = o.norm == norm_kind::layer;
  embedding = make("decoder", "embedding", -1, {vocabulary, o.width}, -1, 0.5, 0);
  for (std::int64_t l = 0; l < o.layers; ++l) {
    const std::string attn = "decoder.layer." + std::to_string(l) + ".attn";
    const std::string mlp = "decoder.layer." + std::to_string(l) + ".mlp";
    layer_parameters p;
    p.norm1 = make(attn, "attn.norm", l, {o.width}, -1, 0, 1);
    if (beta) p.norm1_beta = make(attn, "attn.norm.beta", l, {o.width}, -1, 0, 0);
    p.q = make(attn, "attn.q", l, {o.width, o.width}, 1, in * o.query_gain, 0);
    p.k = make(attn, "attn.k", l, {o.width, o.width}, 1, in * o.query_gain, 0);
    p.v = make(attn, "attn.v", l, {o.width, o.width}, 1, in, 0);
    p.proj = make(attn, "attn.proj", l, {o.width, o.width}, 0, in / deep, 0);
    p.norm2 = make(mlp, "mlp.norm", l, {o.width}, -1, 0, 1);
    if (beta) p.norm2_beta = make(mlp, "mlp.norm.beta", l, {o.width}, -1, 0, 0);
    const auto block = [&](const std::string& scope) {
      return expert_parameters{
          make(scope, "mlp.gate", l, {o.width, o.hidden}, 1, in, 0),
          make(scope, "mlp.up", l, {o.width, o.hidden}, 1, in, 0),
          make(scope, "mlp.down", l, {o.hidden, o.width}, 0, 1 / std::sqrt(double(o.hidden)) / deep, 0)};
    };
    if (o.experts == 0) {
      expert_parameters dense = block(mlp);
      p.gate = std::move(dense.gate);
      p.up = std::move(dense.up);
      p.down = std::move(dense.down);
    } else {
      p.router = make(mlp, "router", l, {o.width, o.experts}, -1, in, 0);
    }
    for (std::int64_t x = 0; x < o.experts; ++x) {
      expert_parameters expert = block(mlp + ".expert." + std::to_string(x));
      for (parameter* each : {&expert.gate, &expert.up, &expert.down}) {
        each->of_expert = true;
        each->value.place = each->m.place = each->v.place = {};
      }
      const auto [first, last] = experts_of(e, e.world.at(axis::dp));
      if (x >= first && x < last) p.experts.push_back(std::move(expert));
    }
    const auto [first, last] = layers_of_stage(e);
    layers.push_back(l >= first && l < last ? std::move(p) : layer_parameters{});
  }
  final_norm = make("decoder.final", "final.norm", -1, {o.width}, -1, 0, 1);
  if (beta) final_norm_beta = make("decoder.final", "final.norm.beta", -1, {o.width}, -1, 0, 0);
  logits = make("decoder.final", "logits", -1, {o.width, vocabulary}, -1, in, 0);
  if (!is_first_stage(e)) embedding = {};
  if (!is_last_stage(e)) final_norm = final_norm_beta = logits = {};
}

std::vector<parameter*> parameters::all() {
  std::vector<parameter*> list{&embedding};
  for (layer_parameters& l : layers)
    for (parameter* p : {&l.norm1, &l.norm1_beta, &l.q, &l.k, &l.v, &l.proj, &l.norm2, &l.norm2_beta, &l.gate,
                         &l.up, &l.down, &l.router})
      list.push_back(p);
  for (layer_parameters& l : layers)
    for (expert_parameters& x : l.experts)
      for (parameter* p : {&x.gate, &x.up, &x.down}) list.push_back(p);
  for (parameter* p : {&final_norm, &final_norm_beta, &logits}) list.push_back(p);
  std::erase_if(list, [](const parameter* p) { return !p->exists(); });
  return list;
}

const tensor& cast_weight(const engine& e, parameter& p) {
  if (e.storage != e.master) p.compute = cast(e, p.name + ".w.cast", p.value, e.storage, carries::nothing);
  return compute_weight(p);
}

const tensor& compute_weight(const parameter& p) {
  return p.compute.codes.empty() ? p.value : p.compute;
}

std::uint64_t digest(parameters& p) {
  std::uint64_t hash = 0xcbf29ce484222325;
  for (const parameter* each : p.all())
    for (std::byte b : each->value.codes) hash = (hash ^ std::to_integer<std::uint64_t>(b)) * 0x100000001b3;
  return hash;
}

}  // namespace minigpt
