#pragma once
// The functions of the C boundary. Compiled once: by the library numdiff::runtime, or by one file of a
// program that defines NUMDIFF_IMPLEMENTATION.
#include <cerrno>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/capture.hpp"
#include "numdiff/detail/runtime/context_stack.hpp"
#include "numdiff/detail/runtime/device_slots.hpp"
#include "numdiff/detail/runtime/fp_environment.hpp"
#include "numdiff/detail/runtime/manifest.hpp"
#include "numdiff/detail/runtime/op_state.hpp"
#include "numdiff/detail/runtime/recorder.hpp"
#include "numdiff/detail/runtime/versioned.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// The recorder, with the session open that the environment asks for.
inline recorder& ready_recorder() noexcept {
  recorder& r = recorder::instance();
  r.open_lazily();
  return r;
}

__attribute__((noinline)) inline context_node* push_changed(const numdiff_context_v1& change) noexcept {
  return push_node(current_values(), &change);
}

// The environment may ask for a session before anything else of the program runs.
__attribute__((constructor)) inline void look_at_environment() noexcept {
  if (environment("NUMDIFF_FILE") != nullptr || environment("NUMDIFF_CONFIG") != nullptr)
    recorder::instance().ask();
}

// What the program finds in errno after a probe is what it had there before.
class errno_kept {
 public:
  errno_kept() noexcept : value_(errno) {}
  errno_kept(const errno_kept&) = delete;
  errno_kept& operator=(const errno_kept&) = delete;
  ~errno_kept() { errno = value_; }

 private:
  int value_;
};

inline std::uint64_t handle_of(const void* p) noexcept {
  return reinterpret_cast<std::uintptr_t>(p);
}
inline op_state* op_of(std::uint64_t handle) noexcept {
  return reinterpret_cast<op_state*>(handle);
}
inline context_node* node_of(std::uint64_t handle) noexcept {
  return reinterpret_cast<context_node*>(handle);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff

extern "C" {

uint32_t numdiff_v1_active = 0;

uint64_t numdiff_v1_session_open(const struct numdiff_session_v1* options) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  numdiff_session_v1 space;
  recorder& r = recorder::instance();
  r.forget_asking();
  return r.open(versioned(options, space), false);
}

void numdiff_v1_session_close(uint64_t session) noexcept {
  const numdiff::detail::errno_kept kept;
  numdiff::detail::recorder::instance().close(session);
}

int numdiff_v1_session_flush(uint64_t session) noexcept {
  const numdiff::detail::errno_kept kept;
  return numdiff::detail::recorder::instance().flush(session) ? 0 : 1;
}

void numdiff_v1_session_mesh(uint64_t session, const char* axis, int32_t size, int32_t coordinate) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  const recorder::entry in(recorder::instance());
  if (!in || session != in.number() || size < 1 || coordinate < 0 || coordinate >= size) return;
  try {
    in->mesh().set(text_of(axis), size, coordinate);
    const std::string key = "mesh." + std::string(text_of(axis));
    in->manifest(key + ".size", std::to_string(size), numdiff::manifest_class::numeric);
    in->manifest(key + ".at", std::to_string(coordinate), numdiff::manifest_class::identity);
  } catch (...) {
    counters::add(in->counts().dropped_events);
  }
}

void numdiff_v1_session_manifest(uint64_t session, const char* key, const char* value,
                                 uint16_t klass) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  const recorder::entry in(recorder::instance());
  if (in && session == in.number()) {
    in->manifest(text_of(key), text_of(value), static_cast<numdiff::manifest_class>(klass));
  }
}

void numdiff_v1_session_update(uint64_t session, int64_t updates) noexcept {
  using namespace numdiff::detail;
  const recorder::entry in(recorder::instance());
  if (in && session == in.number()) in->update.store(updates, std::memory_order_relaxed);
}

void numdiff_v1_statistics(struct numdiff_statistics_v1* out) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  if (out == nullptr) return;
  numdiff_statistics_v1 all = {};
  recorder::instance().statistics(all);
  all.struct_size = out->struct_size;
  std::memcpy(out, &all, out->struct_size < sizeof all ? out->struct_size : sizeof all);
}

const char* numdiff_v1_last_error(void) noexcept {
  const numdiff::detail::errno_kept kept;
  return numdiff::detail::recorder::instance().last_error();
}

uint64_t numdiff_v1_context_push(const struct numdiff_context_v1* change) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  ready_recorder();
  numdiff_context_v1 space;
  const numdiff_context_v1& known = versioned(change, space);
  const fp_environment environment;
  return handle_of(push_changed(known));
}

void numdiff_v1_context_pop(uint64_t token) noexcept {
  const numdiff::detail::errno_kept kept;
  numdiff::detail::pop_node(numdiff::detail::node_of(token));
}

uint64_t numdiff_v1_context_current(void) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  context_node* node = current_node();
  if (node == nullptr) return handle_of(new (std::nothrow) context_node);
  node->users.fetch_add(1, std::memory_order_relaxed);
  return handle_of(node);
}

uint64_t numdiff_v1_context_copy(uint64_t context) noexcept {
  using namespace numdiff::detail;
  if (context != 0) node_of(context)->users.fetch_add(1, std::memory_order_relaxed);
  return context;
}

void numdiff_v1_context_release(uint64_t context) noexcept {
  const numdiff::detail::errno_kept kept;
  numdiff::detail::release(numdiff::detail::node_of(context));
}

uint64_t numdiff_v1_context_enter(uint64_t context) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  return context == 0 ? 0 : handle_of(push_node(node_of(context)->values, nullptr));
}

uint64_t numdiff_v1_op_begin(const struct numdiff_op_v1* op) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  const recorder::entry in(ready_recorder());
  if (!in || op == nullptr) return 0;
  numdiff_op_v1 space;
  return handle_of(begin_op(*in, in.number(), versioned(op, space)));
}

void numdiff_v1_op_end(uint64_t handle) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  op_state* op = op_of(handle);
  if (op == nullptr) return;
  {
    const recorder::entry in(recorder::instance());
    if (in && op->session == in.number()) {
      collect_slots(*in, *op);
      end_op(*in, *op);
    }
  }
  delete op;
}

void numdiff_v1_capture(uint64_t handle, const struct numdiff_capture_v1* c) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  op_state* op = op_of(handle);
  if (op == nullptr || c == nullptr) return;
  const recorder::entry in(recorder::instance());
  if (!in || op->session != in.number()) return;
  numdiff_capture_v1 space;
  capture_view(*in, *op, versioned(c, space));
}

void numdiff_v1_tensor(const struct numdiff_capture_v1* c) noexcept {
  using namespace numdiff::detail;
  if (c == nullptr) return;
  numdiff_op_v1 o = {};
  o.struct_size = sizeof o;
  o.name = c->name;
  o.kind = "tensor";
  o.device = -1;
  o.m = o.n = o.k = o.batch = o.reduction_length = o.workspace = -1;
  o.flops = o.bytes = -1;
  const uint64_t op = numdiff_v1_op_begin(&o);
  numdiff_v1_capture(op, c);
  numdiff_v1_op_end(op);
}

void numdiff_v1_counts(uint64_t handle, const char* name, const struct numdiff_counts_v1* c) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  op_state* op = op_of(handle);
  if (op == nullptr || c == nullptr) return;
  const recorder::entry in(recorder::instance());
  if (!in || op->session != in.number()) return;
  numdiff_counts_v1 space;
  capture_counts(*in, *op, name, versioned(c, space));
}

void numdiff_v1_collective(uint64_t handle, const struct numdiff_collective_v1* c) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  op_state* op = op_of(handle);
  if (op == nullptr || c == nullptr) return;
  const recorder::entry in(recorder::instance());
  if (!in || op->session != in.number()) return;
  numdiff_collective_v1 space;
  try {
    send_collective(*in, *op, versioned(c, space));
  } catch (...) {
    counters::add(in->counts().dropped_events);
  }
}

void numdiff_v1_event(uint16_t kind, const char* name, uint64_t id0, uint64_t id1) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  const recorder::entry in(ready_recorder());
  if (in) {
    send_event(*in, static_cast<numdiff::event_kind>(kind), text_of(name), id0, id1, current_values().step);
  }
}

void* numdiff_v1_device_slots(uint64_t handle) noexcept {
  const numdiff::detail::errno_kept kept;
  using namespace numdiff::detail;
  op_state* op = op_of(handle);
  return op == nullptr ? nullptr : acquire_slots(*op);
}

void numdiff_v1_register_device(const struct numdiff_device_v1* device) noexcept {
  using namespace numdiff::detail;
  if (device == nullptr || device->struct_size < sizeof(numdiff_device_v1)) return;
  registered_device().store(device, std::memory_order_release);
}
}
