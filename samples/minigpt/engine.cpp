#include "engine.hpp"

#include <stdexcept>

namespace minigpt {
namespace {

dtype storage_of(precision p) {
  switch (p) {
    case precision::fp64: return dtype::f64;
    case precision::fp32: return dtype::f32;
    case precision::fp16: return dtype::f16;
    default: return dtype::bf16;
  }
}

dtype wire_of(wire_format w) {
  constexpr dtype types[] = {dtype::f64, dtype::f32, dtype::bf16, dtype::f16};
  return types[static_cast<int>(w)];
}

spread along(const group& g, spread::kind how, int dimension = 0) {
  return g.size() == 1 ? spread{} : spread{how, dimension};
}

void check(bool right, const char* message) {
  if (!right) throw std::runtime_error(message);
}

}  // namespace

engine::engine(const options& o, const ranks& w)
    : config(o),
      world(w),
      fault(o),
      storage(storage_of(o.numbers)),
      master(o.numbers == precision::fp64 ? dtype::f64 : dtype::f32),
      real(master),
      wire(wire_of(o.wire)) {
  check(o.heads > 0 && o.width % o.heads == 0 && o.width / o.heads % 2 == 0,
        "--width must be an even multiple of --heads");
  check(o.heads % w.tp().size() == 0 && o.hidden % w.tp().size() == 0,
        "--tp must divide --heads and --hidden");
  check(o.batch % w.dp().size() == 0, "the data-parallel ranks must divide --batch");
}

placement engine::everywhere() const {
  return {along(world.dp(), spread::replicated), along(world.tp(), spread::replicated)};
}
placement engine::tokens() const {
  return {along(world.dp(), spread::sharded), along(world.tp(), spread::replicated)};
}
placement engine::tokens_and(int dimension) const {
  return {along(world.dp(), spread::sharded), along(world.tp(), spread::sharded, dimension)};
}
placement engine::tokens_partial() const {
  return {along(world.dp(), spread::sharded), along(world.tp(), spread::partial)};
}
placement engine::weight(int tp_dimension) const {
  placement p = everywhere();
  if (tp_dimension >= 0) p.tp = along(world.tp(), spread::sharded, tp_dimension);
  return p;
}

}  // namespace minigpt
