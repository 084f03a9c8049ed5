#pragma once
// Where in the program we are: step, micro-batch, phase, scope, tags and factors of this thread.
#include <cstdint>
#include <type_traits>

#include "numdiff/abi.h"
#include "numdiff/probe.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

// The context of a thread at one moment, to be entered on another: cheap to copy.
class context {
 public:
  context() noexcept = default;
  context(const context& other) noexcept
      : handle_(other.handle_ == 0 ? 0 : numdiff_v1_context_copy(other.handle_)) {}
  context(context&& other) noexcept : handle_(other.handle_) { other.handle_ = 0; }
  context& operator=(context other) noexcept {
    const std::uint64_t mine = handle_;
    handle_ = other.handle_;
    other.handle_ = mine;
    return *this;
  }
  ~context() {
    if (handle_ != 0) numdiff_v1_context_release(handle_);
  }

  [[nodiscard]] std::uint64_t handle() const noexcept { return handle_; }

 private:
  friend context current_context() noexcept;
  explicit context(std::uint64_t handle) noexcept : handle_(handle) {}
  std::uint64_t handle_ = 0;
};

[[nodiscard]] inline context current_context() noexcept {
  return context(recording() ? numdiff_v1_context_current() : 0);
}

// Something this thread is inside of, until the object ends. Objects end in the reverse order of
// their beginning, on the thread that began them.
//
//   const auto in_step = numdiff::scoped::step(3);
class scoped {
 public:
  // Opens nothing.
  scoped() noexcept = default;
  scoped(const scoped&) = delete;
  scoped& operator=(const scoped&) = delete;
  ~scoped() {
    if (token_ != 0) numdiff_v1_context_pop(token_);
  }

  [[nodiscard]] static scoped step(std::int64_t n) noexcept { return push(numdiff_context_step, n); }
  [[nodiscard]] static scoped micro_batch(std::int64_t i) noexcept {
    return push(numdiff_context_micro_batch, i);
  }
  [[nodiscard]] static scoped phase(numdiff::phase p) noexcept {
    return push(numdiff_context_phase, static_cast<std::int64_t>(p));
  }
  // A name below the names of the enclosing scopes, joined with '.'.
  [[nodiscard]] static scoped name(const char* text) noexcept {
    return push(numdiff_context_scope, 0, 0, text);
  }
  template <class Integer, class = std::enable_if_t<std::is_integral_v<Integer>>>
  [[nodiscard]] static scoped tag(const char* key, Integer value) noexcept {
    return push(numdiff_context_tag, static_cast<std::int64_t>(value), 0, key);
  }
  [[nodiscard]] static scoped tag(const char* key, const char* value) noexcept {
    return push(numdiff_context_tag, 0, 0, key, value == nullptr ? "" : value);
  }
  // A number that gradients (and views with carries_factors) are multiplied by.
  [[nodiscard]] static scoped factor(const char* key, double value) noexcept {
    return push(numdiff_context_factor, 0, value, key);
  }
  // The context `c` in place of this thread's own.
  [[nodiscard]] static scoped enter(const context& c) noexcept {
    return scoped(c.handle() != 0 && recording() ? numdiff_v1_context_enter(c.handle()) : 0);
  }

 private:
  explicit scoped(std::uint64_t token) noexcept : token_(token) {}
  static scoped push(std::uint32_t kind, std::int64_t integer, double number = 0, const char* name = nullptr,
                     const char* text = nullptr) noexcept {
    if (!recording()) return scoped();
    const numdiff_context_v1 c = {sizeof c, kind, integer, number, name, text};
    return scoped(numdiff_v1_context_push(&c));
  }
  std::uint64_t token_ = 0;
};

}  // namespace v1
}  // namespace numdiff
