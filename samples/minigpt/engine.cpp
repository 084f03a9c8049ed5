#include "engine.hpp"

#include <algorithm>
#include <stdexcept>

#include "numdiff/ranges.hpp"

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
  check(o.sequence % (2 * w.size(axis::cp)) == 0, "twice --cp must divide --sequence");
  const bool only_data = w.size(axis::tp) == 1 && w.size(axis::cp) == 1 && !o.zero && !o.sequence_parallel;
  check(o.experts == 0 || (only_data && o.experts >= std::max(2, w.size(axis::dp))),
        "--experts takes two or more, one for each rank, and data-parallel ranks only");
  check(o.micro_batches > 0 && o.batch % o.micro_batches == 0, "--micro-batches must divide --batch");
  check(o.layers >= w.size(axis::pp), "every stage needs a layer");
  check(sequences() >= w.dp().size(), "every data-parallel rank needs a sequence of --batch");
}

std::int64_t engine::first_sequence(std::int32_t dp_at) const {
  return numdiff::part_begin(sequences(), world.size(axis::dp), dp_at);
}
std::int64_t engine::local_batch() const {
  return first_sequence(world.at(axis::dp) + 1) - first_sequence();
}

rows_ptr engine::context_rows(std::int32_t cp_at) const {
  const numdiff::index_ranges held = numdiff::zigzag(config.sequence, world.size(axis::cp), cp_at);
  return make_rows(first_sequence(), local_batch(), sequences(), config.sequence,
                   {held.list, held.list + held.count});
}
rows_ptr engine::all_positions() const {
  return make_rows(first_sequence(), local_batch(), sequences(), config.sequence, {{0, 0, config.sequence}});
}
rows_ptr engine::residual_rows(std::int32_t tp_at) const {
  if (!config.sequence_parallel) return product_rows();
  const rows_ptr all = product_rows();
  return make_rows(all->first_sequence, all->sequences, all->all_sequences, all->length, all->positions,
                   world.size(axis::tp), tp_at);
}

void engine::put(placement& p, axis a, spread::kind how, int dimension) const {
  if (world.size(a) > 1) p[a] = {how, dimension};
}

placement engine::everywhere() const {
  placement p;
  for (const axis a : {axis::dp, axis::cp, axis::tp}) put(p, a, spread::replicated);
  return p;
}
placement engine::tokens() const {
  placement p = everywhere();
  for (const axis a : {axis::dp, axis::cp}) put(p, a, spread::sharded);
  p.rows = product_rows();
  return p;
}
placement engine::tokens_and(int dimension) const {
  placement p = tokens();
  put(p, axis::tp, spread::sharded, dimension);
  return p;
}
placement engine::tokens_partial() const {
  placement p = tokens();
  put(p, axis::tp, spread::partial);
  return p;
}
placement engine::keys(spread::kind over_context) const {
  placement p = tokens_and(1);
  put(p, axis::cp, over_context);
  p.rows = all_positions();
  return p;
}
placement engine::residual() const {
  if (!config.sequence_parallel) return tokens();
  placement p = tokens_and(0);
  p.rows = residual_rows();
  return p;
}
placement engine::weight(int tp_dimension) const {
  placement p = everywhere();
  if (tp_dimension >= 0) put(p, axis::tp, spread::sharded, tp_dimension);
  return p;
}
placement engine::gradient(int tp_dimension) const {
  placement p = weight(tp_dimension);
  for (const axis a : {axis::dp, axis::cp}) put(p, a, spread::partial);
  if (tp_dimension < 0 && config.sequence_parallel) put(p, axis::tp, spread::partial);
  return p;
}
placement engine::squares(bool tp_sharded) const {
  placement p = everywhere();
  put(p, axis::pp, spread::partial);
  if (tp_sharded) put(p, axis::tp, spread::partial);
  if (config.zero)
    for (const axis a : {axis::dp, axis::cp}) put(p, a, spread::partial);
  return p;
}
placement engine::mean() const {
  placement p;
  if (sequences() % world.size(axis::dp) != 0) return p;
  p = everywhere();
  for (const axis a : residual_ranks().over) put(p, a, spread::average);
  return p;
}
const group& engine::residual_ranks() const {
  return config.sequence_parallel ? world.over({axis::dp, axis::cp, axis::tp}) : world.data();
}

}  // namespace minigpt
