#pragma once
// An op that was begun: its number, its level, and its message until that leaves.
#include <cstdint>
#include <new>
#include <string>
#include <string_view>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/context_stack.hpp"
#include "numdiff/detail/runtime/session_state.hpp"
#include "numdiff/detail/runtime/threads.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline std::string_view text_of(const char* words) noexcept {
  return words == nullptr ? std::string_view() : std::string_view(words);
}

// The message of an op leaves with its first capture, so that a collective told before goes with it.
struct op_state {
  std::uint64_t session = 0;  // number of the session it belongs to
  numdiff::level level = level::off;
  double factor = 1;  // of the context
  void* slots = nullptr;

  op_row row{};
  std::string name, kind, scope, tags, factors, algorithm, rng;

  mutex sending;
  bool sent = false;

  op_state(const numdiff_op_v1& o, const context_values& context)
      : factor(context.factor),
        name(text_of(o.name)),
        kind(text_of(o.kind)),
        scope(context.scope),
        tags(context_values::object(context.tags)),
        factors(context_values::object(context.factors)),
        algorithm(text_of(o.algorithm)),
        rng(text_of(o.rng)) {
    row.step = context.step;
    row.micro_batch = context.micro_batch;
    row.phase = static_cast<std::uint16_t>(context.phase);
    row.m = o.m;
    row.n = o.n;
    row.k = o.k;
    row.batch = o.batch;
    row.reduction_length = o.reduction_length;
    row.workspace = o.workspace;
    row.stream = o.stream;
    row.rng_seed = o.rng_seed;
    row.rng_offset = o.rng_offset;
    row.graph = o.graph;
    row.graph_node = o.graph_node;
    row.graph_replay = o.graph_replay;
    row.flops = o.flops;
    row.bytes = o.bytes;
    row.device = o.device;
    row.promotion = o.promotion;
    row.input_dtype = o.input_dtype;
    row.input2_dtype = o.input2_dtype;
    row.accumulate_dtype = o.accumulate_dtype;
    row.output_dtype = o.output_dtype;
    row.accumulate_bits = o.accumulate_bits;
    row.accumulate_rounding = o.accumulate_rounding;
    row.output_rounding = o.output_rounding;
    row.split = o.split;
    row.partial_dtype = o.partial_dtype;
    row.order = o.order;
    row.clock = static_cast<std::uint16_t>(clock_source::monotonic);
    row.thread = thread_number();
    row.t_begin = monotonic_ns();
  }
};

struct collective_texts {
  collective_row row{};
  std::string ranks;
  std::string_view communicator, algorithm, protocol;

  explicit collective_texts(const numdiff_collective_v1& c)
      : communicator(text_of(c.communicator)),
        algorithm(text_of(c.algorithm)),
        protocol(text_of(c.protocol)) {
    row.sequence = c.sequence;
    row.count = c.count;
    row.peer = c.peer;
    row.size = c.size;
    row.operation = c.operation;
    row.reduction = c.reduction;
    row.wire_dtype = c.wire_dtype;
    if (c.ranks == nullptr || c.rank_count == 0) return;
    for (std::uint32_t i = 0; i < c.rank_count; ++i) {
      ranks += i == 0 ? '[' : ',';
      append_number(ranks, std::int64_t{c.ranks[i]});
    }
    ranks += ']';
  }
  void add_texts(message_parts& m) const noexcept {
    m.add(field::communicator, communicator);
    m.add(field::ranks, ranks);
    m.add(field::collective_algorithm, algorithm);
    m.add(field::protocol, protocol);
  }
};

// Sends the op's message if it has not left yet. The lock `sending` is held.
inline void send_op(session_state& s, op_state& op, const collective_texts* collective) noexcept {
  if (op.sent) return;
  op.sent = true;
  message_parts m(message_kind::op, op.row);
  m.add(field::name, op.name);
  m.add(field::kind, op.kind);
  m.add(field::scope, op.scope);
  m.add(field::tags, op.tags);
  m.add(field::factors, op.factors);
  m.add(field::algorithm, op.algorithm);
  m.add(field::rng, op.rng);
  if (collective != nullptr) {
    m.add(field::collective, &collective->row, sizeof collective->row);
    collective->add_texts(m);
  }
  counters::add(s.push(m) ? s.counts().ops : s.counts().dropped_ops);
}

inline void send_collective(session_state& s, op_state& op, const numdiff_collective_v1& c) {
  collective_texts texts(c);
  texts.row.op = op.row.seq;
  locked guard(op.sending);
  if (!op.sent) {
    send_op(s, op, &texts);
    return;
  }
  message_parts m(message_kind::collective, texts.row);
  texts.add_texts(m);
  if (!s.push(m)) counters::add(s.counts().dropped_events);
}

inline void send_event(session_state& s, event_kind kind, std::string_view name, std::uint64_t id0,
                       std::uint64_t id1, std::int64_t step) noexcept {
  event_row row{};
  row.seq = s.next_seq();
  row.time = monotonic_ns();
  row.id0 = id0;
  row.id1 = id1;
  row.step = step;
  row.kind = static_cast<std::uint16_t>(kind);
  message_parts m(message_kind::event, row);
  m.add(field::name, name);
  counters::add(s.push(m) ? s.counts().events : s.counts().dropped_events);
}

// Null when nothing is to be recorded, or there is no memory.
inline op_state* begin_op(session_state& s, std::uint64_t session, const numdiff_op_v1& o) noexcept {
  const context_values& context = current_values();
  if (!s.options().step_ranges.selects(context.step)) return nullptr;
  try {
    const level at = s.options().ops.level_of(context.scope, text_of(o.name));
    if (at == level::off) return nullptr;
    auto* op = new op_state(o, context);
    op->session = session;
    op->level = at;
    op->row.update = s.update.load(std::memory_order_relaxed);
    op->row.seq = s.next_seq();
    return op;
  } catch (...) {
    counters::add(s.counts().dropped_ops);
    return nullptr;
  }
}

inline void end_op(session_state& s, op_state& op) noexcept {
  {
    locked guard(op.sending);
    send_op(s, op, nullptr);
  }
  send_event(s, event_kind::op_ended, {}, op.row.seq, 0, op.row.step);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
