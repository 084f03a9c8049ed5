#pragma once
// The recorder of the process: which session is open, and who is inside it.
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <new>
#include <string>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/counters.hpp"
#include "numdiff/detail/runtime/session_state.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline void collect_manifest(session_state& s) noexcept;

class recorder {
 public:
  // Never destroyed: probes may run until the process is gone.
  static recorder& instance() noexcept {
    static recorder* const the = new recorder;
    return *the;
  }

  // Returns the session's number, or 0 with last_error(). A session that the environment opened is
  // taken over.
  std::uint64_t open(const numdiff_session_v1& options, bool by_environment) noexcept {
    if (forked()) return 0;
    locked guard(opening_);
    if (session_ != nullptr) {
      if (failed_.load()) return 0;
      if (by_environment) return number_;
      if (!lazy_) {
        say("a session is open already");
        return 0;
      }
      lazy_ = false;
      return number_;
    }
    session_state* s = nullptr;
    bool opened = false;
    std::string error;
    try {
      counts_.clear();
      s = new session_state(counts_);
      opened = s->open(
          options, [](void* self, const char* reason) { static_cast<recorder*>(self)->fail(reason); }, this,
          error);
    } catch (...) {
      error = "no memory";
    }
    if (!opened) {
      delete s;
      say(error.c_str());
      set_active(0);
      return 0;
    }
    say("");
    failed_.store(false);
    session_ = s;
    lazy_ = by_environment;
    ++number_;
    collect_manifest(*s);
    current_.store(s);
    set_active(1);
    register_handlers();
    return number_;
  }

  // Waits for probes that are under way, then for the writer.
  void close(std::uint64_t number) noexcept {
    if (forked()) return;
    locked guard(opening_);
    if (session_ == nullptr || number != number_) return;
    set_active(0);
    current_.store(nullptr);
    const std::int64_t deadline = monotonic_ns() + probes_ns;
    while (inside_.load() != 0 && monotonic_ns() < deadline) usleep(100);
    const bool left = inside_.load() == 0;
    if (!session_->finish() && !failed_.load()) say(session_->output().error());
    // A probe that never came back may still use it.
    if (left) delete session_;
    session_ = nullptr;
  }

  bool flush(std::uint64_t number) noexcept {
    const entry in(*this);
    if (!in || number != number_) return false;
    return in->output().flush();
  }

  // Inside of the open session, for as long as the object lives; false when there is none.
  class entry {
   public:
    explicit entry(recorder& r) noexcept : recorder_(r) {
      recorder_.inside_.fetch_add(1);
      session_ = recorder_.current_.load();
    }
    entry(const entry&) = delete;
    entry& operator=(const entry&) = delete;
    ~entry() { recorder_.inside_.fetch_sub(1); }
    explicit operator bool() const noexcept { return session_ != nullptr; }
    session_state* operator->() const noexcept { return session_; }
    session_state& operator*() const noexcept { return *session_; }
    [[nodiscard]] std::uint64_t number() const noexcept { return recorder_.number_; }

   private:
    recorder& recorder_;
    session_state* session_;
  };

  // Opens the session that the environment asks for, at the first call.
  void open_lazily() noexcept {
    if (current_.load() != nullptr || !asked_.exchange(false)) return;
    numdiff_session_v1 o = {};
    o.struct_size = sizeof o;
    o.level = static_cast<std::uint16_t>(level::sketch);
    o.rank = o.world_size = -1;
    open(o, true);
  }
  // The environment wants a session: probes call in, and the first one opens it.
  void ask() noexcept {
    asked_.store(true);
    set_active(1);
  }
  void forget_asking() noexcept { asked_.store(false); }

  void statistics(numdiff_statistics_v1& out) noexcept {
    if (forked()) return;
    counts_.fill(out);
    out.active = current_.load() != nullptr ? 1 : 0;
  }

  // Valid until the next call of this thread.
  const char* last_error() noexcept {
    if (forked()) return "capture ended: this process is the child of a fork";
    static thread_local char copy[512];
    locked guard(texts_);
    std::snprintf(copy, sizeof copy, "%s", error_);
    return copy;
  }

 private:
  static constexpr std::int64_t probes_ns = 5000000000;
  static void set_active(std::uint32_t value) noexcept {
    __atomic_store_n(&numdiff_v1_active, value, __ATOMIC_RELAXED);
  }
  [[nodiscard]] bool forked() const noexcept { return forked_.load(std::memory_order_relaxed); }

  void say(const char* reason) noexcept {
    locked guard(texts_);
    std::snprintf(error_, sizeof error_, "%s", reason);
  }

  // On the writer's thread: capture is off, the program goes on.
  void fail(const char* reason) noexcept {
    set_active(0);
    failed_.store(true);
    current_.store(nullptr);
    say(reason);
  }

  void register_handlers() noexcept {
    if (handlers_) return;
    handlers_ = true;
    pthread_atfork(nullptr, nullptr, [] { instance().on_fork(); });
    std::atexit([] { instance().close(instance().number_); });
  }
  // Only async-signal-safe calls: other threads may have held any lock.
  void on_fork() noexcept {
    forked_.store(true);
    set_active(0);
    session_state* s = current_.exchange(nullptr);
    if (s != nullptr) s->forked();
  }

  std::atomic<session_state*> current_{nullptr};  // probes go in here
  std::atomic<std::uint32_t> inside_{0};
  std::atomic<bool> failed_{false}, forked_{false}, asked_{false};
  mutex opening_;
  session_state* session_ = nullptr;
  bool lazy_ = false, handlers_ = false;
  std::atomic<std::uint64_t> number_{0};
  counters counts_;
  mutex texts_;
  char error_[512] = "";
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
