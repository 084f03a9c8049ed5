#include "pipeline.hpp"

#include "numdiff/ranges.hpp"
#include "views.hpp"

namespace minigpt {
namespace {

// Between this stage and its neighbour.
struct link {
  const group& stages;
  std::int32_t from, to;
  std::string name;

  link(const engine& e, bool sends, carries factors) : stages(e.world.pp()), from(stages.at), to(stages.at) {
    const std::int32_t ahead = factors == carries::nothing ? 1 : -1;
    (sends ? to : from) += sends ? ahead : -ahead;
    name = "stage." + std::to_string(std::min(from, to)) + (ahead == 1 ? ".forward" : ".backward");
  }
  [[nodiscard]] numdiff::collective told(numdiff::collective_operation operation, const tensor& x) const {
    const std::int32_t pair[] = {stages.members[static_cast<std::size_t>(from)],
                                 stages.members[static_cast<std::size_t>(to)]};
    return numdiff::collective(operation, numdiff::reduction::none)
        .communicator(stages.name.c_str())
        .sequence(stages.sequence++)
        .size(2)
        .ranks(pair, 2)
        .count(x.count())
        .wire(x.type)
        .peer(pair[to == stages.at ? 0 : 1]);
  }
};

}  // namespace

std::pair<std::int64_t, std::int64_t> layers_of_stage(const engine& e) {
  const std::int32_t stages = e.world.size(axis::pp), at = e.world.at(axis::pp);
  return {numdiff::part_begin(e.config.layers, stages, at),
          numdiff::part_begin(e.config.layers, stages, at + 1)};
}
bool is_first_stage(const engine& e) {
  return e.world.at(axis::pp) == 0;
}
bool is_last_stage(const engine& e) {
  return e.world.at(axis::pp) == e.world.size(axis::pp) - 1;
}

void send_rows(const engine& e, const tensor& x, carries factors) {
  const link way(e, true, factors);
  NUMDIFF_OP(op, way.name.c_str(), send, numdiff::dtypes(x.type, x.type, x.type));
  NUMDIFF_COLLECTIVE(op, way.told(numdiff::collective_operation::send, x));
  NUMDIFF_INPUT(op, "x", factors == carries::loss_scale ? view_of(x).carries_factors() : view_of(x));
  e.world.send(way.stages, way.to, x.codes.data(), x.codes.size());
}

tensor receive_rows(const engine& e, carries factors) {
  const link way(e, false, factors);
  const placement rows = e.residual();
  tensor y(e.storage, {rows.rows->count, e.config.width}, rows);
  NUMDIFF_OP(op, way.name.c_str(), receive, numdiff::dtypes(y.type, y.type, y.type));
  NUMDIFF_COLLECTIVE(op, way.told(numdiff::collective_operation::receive, y));
  e.world.receive(way.stages, way.from, y.codes.data(), y.codes.size());
  if (factors == carries::loss_scale)
    NUMDIFF_GRADIENT(op, "y", view_of(y));
  else
    NUMDIFF_OUTPUT(op, "y", view_of(y));
  return y;
}

double from_last_stage(const engine& e, double value) {
  const group& stages = e.world.pp();
  const std::int32_t last = stages.size() - 1;
  for (std::int32_t stage = 0; stage < last; ++stage) {
    if (stages.at == last) e.world.send(stages, stage, &value, sizeof value);
    if (stages.at == stage) e.world.receive(stages, last, &value, sizeof value);
  }
  return value;
}

}  // namespace minigpt
