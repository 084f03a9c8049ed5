#pragma once
// The macros. Each is one call of an ordinary type or function that can be used without it.
//
// Declaring macros are one declaration; what they open ends with the enclosing block. Probing macros
// are expressions of type void. With NUMDIFF_ENABLE=0 arguments are parsed, never evaluated, and no
// code is left. docs/macros.md has an example of each.
#include "numdiff/context.hpp"
#include "numdiff/device.hpp"
#include "numdiff/op.hpp"

#define NUMDIFF_DETAIL_JOIN_(a, b) a##b
#define NUMDIFF_DETAIL_JOIN(a, b) NUMDIFF_DETAIL_JOIN_(a, b)
#define NUMDIFF_DETAIL_UNIQUE(name) NUMDIFF_DETAIL_JOIN(numdiff_detail_##name##_, __COUNTER__)

// All that the switch changes:
#if NUMDIFF_ENABLE
#define NUMDIFF_DETAIL_SCOPED(variable, ...) \
  const ::numdiff::scoped variable = ::numdiff::recording() ? (__VA_ARGS__) : ::numdiff::scoped()
#define NUMDIFF_DETAIL_OP(variable, ...) \
  const ::numdiff::op variable = ::numdiff::recording() ? ::numdiff::op(__VA_ARGS__) : ::numdiff::op()
#define NUMDIFF_DETAIL_PROBE(op, method, ...) \
  ((op).recording() ? (op).method(__VA_ARGS__) : static_cast<void>(0))
#define NUMDIFF_DETAIL_CAPTURE(op, role_name, ...) \
  NUMDIFF_DETAIL_PROBE(op, capture, ::numdiff::role::role_name, __VA_ARGS__)
#define NUMDIFF_DETAIL_SCALAR(op, ...) NUMDIFF_DETAIL_PROBE(op, scalar, __VA_ARGS__)
#define NUMDIFF_DETAIL_CALL(function, ...) \
  (::numdiff::recording() ? function(__VA_ARGS__) : static_cast<void>(0))
#define NUMDIFF_KERNEL_PARAM(op) , const ::numdiff::device_op op
#define NUMDIFF_KERNEL_ARG(op) , ::numdiff::device_op::of(op)
#define NUMDIFF_DEVICE_COUNTER(counter, op, ...) ::numdiff::device_counter counter(op, __VA_ARGS__)
#else
#define NUMDIFF_DETAIL_SCOPED(variable, ...)                    \
  [[maybe_unused]] const ::numdiff::detail::disabled variable = \
      true ? ::numdiff::detail::disabled() : ::numdiff::detail::disabled_sink(__VA_ARGS__)
#define NUMDIFF_DETAIL_OP(variable, ...) NUMDIFF_DETAIL_SCOPED(variable, __VA_ARGS__)
#define NUMDIFF_DETAIL_PROBE(op, method, ...) \
  (true ? static_cast<void>(0) : ::numdiff::detail::sink(op, __VA_ARGS__))
#define NUMDIFF_DETAIL_CAPTURE(op, role_name, ...) \
  (true ? static_cast<void>(0) : ::numdiff::detail::sink(op, __VA_ARGS__))
#define NUMDIFF_DETAIL_SCALAR(op, name, ...) \
  (true ? static_cast<void>(0) : ::numdiff::detail::sink(op, name, ::numdiff::detail::by_value(__VA_ARGS__)))
#define NUMDIFF_DETAIL_CALL(function, ...) \
  (true ? static_cast<void>(0) : ::numdiff::detail::sink(__VA_ARGS__))
#define NUMDIFF_KERNEL_PARAM(op)
#define NUMDIFF_KERNEL_ARG(op)
#define NUMDIFF_DEVICE_COUNTER(counter, op, ...) \
  [[maybe_unused]] const ::numdiff::detail::disabled_counter counter
#endif

// Iteration of the program; never -1.
#define NUMDIFF_STEP(n) NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(step), ::numdiff::scoped::step(n))
#define NUMDIFF_MICRO_BATCH(i) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(micro_batch), ::numdiff::scoped::micro_batch(i))
// An enumerator of numdiff::phase: NUMDIFF_PHASE(backward);
#define NUMDIFF_PHASE(phase_name) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(phase), ::numdiff::scoped::phase(::numdiff::phase::phase_name))
// A name below those of the enclosing scopes.
#define NUMDIFF_SCOPE(...) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(scope), ::numdiff::scoped::name(__VA_ARGS__))
// NUMDIFF_TAG(key, integer or text)
#define NUMDIFF_TAG(...) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(tag), ::numdiff::scoped::tag(__VA_ARGS__))
// NUMDIFF_FACTOR(key, number): gradients inside are multiplied by it.
#define NUMDIFF_FACTOR(...) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(factor), ::numdiff::scoped::factor(__VA_ARGS__))
// A numdiff::context taken on another thread, in place of this thread's.
#define NUMDIFF_CONTEXT(...) \
  NUMDIFF_DETAIL_SCOPED(NUMDIFF_DETAIL_UNIQUE(context), ::numdiff::scoped::enter(__VA_ARGS__))
// NUMDIFF_OP(variable, name, kind, numdiff::dtypes(...)); kind is an identifier.
#define NUMDIFF_OP(variable, name, kind, ...) NUMDIFF_DETAIL_OP(variable, name, #kind, __VA_ARGS__)

// NUMDIFF_INPUT(op, name, tensor): what the op reads, captured before it is overwritten.
#define NUMDIFF_INPUT(op, ...) NUMDIFF_DETAIL_CAPTURE(op, input, __VA_ARGS__)
#define NUMDIFF_WEIGHT(op, ...) NUMDIFF_DETAIL_CAPTURE(op, weight, __VA_ARGS__)
#define NUMDIFF_SCALE(op, ...) NUMDIFF_DETAIL_CAPTURE(op, scale, __VA_ARGS__)
// What the op writes.
#define NUMDIFF_ACCUMULATE(op, ...) NUMDIFF_DETAIL_CAPTURE(op, accumulate, __VA_ARGS__)
#define NUMDIFF_OUTPUT(op, ...) NUMDIFF_DETAIL_CAPTURE(op, output, __VA_ARGS__)
#define NUMDIFF_GRADIENT(op, ...) NUMDIFF_DETAIL_CAPTURE(op, gradient, __VA_ARGS__)
// What it reads and writes: captured before as "m" and after as "m.new".
#define NUMDIFF_STATE(op, ...) NUMDIFF_DETAIL_CAPTURE(op, state, __VA_ARGS__)
// NUMDIFF_SCALAR(op, name, number)
#define NUMDIFF_SCALAR(op, ...) NUMDIFF_DETAIL_SCALAR(op, __VA_ARGS__)
// NUMDIFF_CAST(op, name, source, destination): the destination, with counts from the source.
#define NUMDIFF_CAST(op, ...) NUMDIFF_DETAIL_PROBE(op, cast, __VA_ARGS__)
// NUMDIFF_COUNTS(op, name, numdiff::cast_counter)
#define NUMDIFF_COUNTS(op, ...) NUMDIFF_DETAIL_PROBE(op, counts, __VA_ARGS__)
// NUMDIFF_COLLECTIVE(op, numdiff::collective(...)...)
#define NUMDIFF_COLLECTIVE(op, ...) NUMDIFF_DETAIL_PROBE(op, collective, __VA_ARGS__)
// NUMDIFF_TENSOR(name, tensor): a tensor outside any op.
#define NUMDIFF_TENSOR(...) NUMDIFF_DETAIL_CALL(::numdiff::capture_tensor, __VA_ARGS__)
// The optimizer left its step out.
#define NUMDIFF_SKIP_STEP() NUMDIFF_DETAIL_CALL(::numdiff::mark, ::numdiff::event_kind::skipped_step)
