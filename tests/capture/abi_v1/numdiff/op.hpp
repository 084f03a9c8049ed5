#pragma once
// One execution of an operation, and what is observed of its tensors. The macros open and call these.
#include <type_traits>

#include "numdiff/abi.h"
#include "numdiff/cast_counter.hpp"
#include "numdiff/collective.hpp"
#include "numdiff/dtypes.hpp"
#include "numdiff/probe.hpp"
#include "numdiff/terms.hpp"
#include "numdiff/view_traits.hpp"

namespace numdiff {
inline namespace v1 {

// From its construction to its end. An op is ended on any thread; its probes may run on any thread,
// also at the same time. Tensors are numdiff::view or anything with numdiff::view_traits.
//
//   const numdiff::op op("mlp.fc1", "matmul", numdiff::dtypes(bf16, f32, bf16).mnk(M, N, K));
//   if (op.recording()) op.capture(numdiff::role::input, "x", numdiff::view(x, {M, K}));
class op {
 public:
  // Records nothing.
  op() noexcept = default;
  // `kind` says what the op means (docs/numerics.md lists the kinds), `name` which one it is.
  op(const char* name, const char* kind, const dtypes& settings) noexcept {
    if (!numdiff::v1::recording()) return;
    numdiff_op_v1 raw = settings.raw();
    raw.name = name;
    raw.kind = kind;
    handle_ = numdiff_v1_op_begin(&raw);
  }
  op(const op&) = delete;
  op& operator=(const op&) = delete;
  ~op() {
    if (handle_ != 0) numdiff_v1_op_end(handle_);
  }

  // False when no session is open, or the selection leaves this op out.
  [[nodiscard]] bool recording() const noexcept { return __builtin_expect(handle_ != 0, 0); }

  template <class Tensor>
  void capture(role r, const char* name, const Tensor& tensor) const noexcept {
    const auto& v = detail::view_of(tensor);
    const numdiff_capture_v1 c = {sizeof c, static_cast<std::uint16_t>(r), 0, name, &v.raw(), nullptr};
    numdiff_v1_capture(handle_, &c);
  }
  // The destination of a cast, with counts of what the source's values were before it. `source` is not
  // scaled.
  template <class Source, class Destination>
  void cast(const char* name, const Source& source, const Destination& destination) const noexcept {
    const auto& from = detail::view_of(source);
    const auto& to = detail::view_of(destination);
    const numdiff_capture_v1 c = {sizeof c,   static_cast<std::uint16_t>(role::output), 0, name, &to.raw(),
                                  &from.raw()};
    numdiff_v1_capture(handle_, &c);
  }
  // A number that the op computes with, in the type it has.
  template <class Number>
  void scalar(const char* name, const Number& value) const noexcept {
    capture(role::scalar, name, view(&value, {}));
  }
  void counts(const char* name, const cast_counter& counter) const noexcept {
    numdiff_v1_counts(handle_, name, &counter.raw());
  }
  void collective(const numdiff::collective& c) const noexcept {
    const numdiff_collective_v1 raw = c.raw();
    numdiff_v1_collective(handle_, &raw);
  }

  [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }

 private:
  std::uint64_t handle_ = 0;
};

// A tensor outside any op.
template <class Tensor>
void capture_tensor(const char* name, const Tensor& tensor) noexcept {
  const auto& v = detail::view_of(tensor);
  const numdiff_capture_v1 c = {sizeof c, static_cast<std::uint16_t>(role::none), 0, name, &v.raw(), nullptr};
  numdiff_v1_tensor(&c);
}

// Something that happened between ops, as event_kind::skipped_step: the optimizer left its step out.
inline void mark(event_kind kind, const char* name = nullptr, std::uint64_t id0 = 0,
                 std::uint64_t id1 = 0) noexcept {
  numdiff_v1_event(static_cast<std::uint16_t>(kind), name, id0, id1);
}

}  // namespace v1
}  // namespace numdiff
