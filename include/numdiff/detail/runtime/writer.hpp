#pragma once
// The thread that empties the queue into the sink. All calls of the sink are made here.
#include <fenv.h>
#include <pthread.h>
#include <signal.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "numdiff/detail/runtime/launcher.hpp"
#include "numdiff/detail/runtime/queue.hpp"
#include "numdiff/detail/runtime/sink_loader.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

class writer {
 public:
  writer(message_queue& queue, const ::numdiff_sink_v1& sink) noexcept : queue_(queue), sink_(sink) {}

  // Opens the sink on the new thread; false with a reason when it does not open. `failed` is called
  // there, once, when the sink stops taking messages.
  bool start(const std::string& path, const std::string& index_path, const identity& who, std::uint32_t flags,
             void (*failed)(void*, const char*), void* context) {
    path_ = path;
    index_path_ = index_path;
    who_ = who;
    flags_ = flags;
    failed_call_ = failed;
    failed_context_ = context;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int started = pthread_create(
        &thread_, nullptr,
        [](void* self) -> void* {
          static_cast<writer*>(self)->main();
          return nullptr;
        },
        this);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (started != 0) {
      say("the writer thread cannot be started");
      return false;
    }
    locked guard(mutex_);
    while (state_ == state::opening) changed_.wait(mutex_);
    if (state_ == state::running) return true;
    mutex_.unlock();
    pthread_join(thread_, nullptr);
    mutex_.lock();
    return false;
  }

  // Waits until all that was queued before is committed; false when it is not.
  bool flush() noexcept {
    locked guard(mutex_);
    const std::uint64_t target = queue_.written();
    if (target > flush_target_) flush_target_ = target;
    while (state_ == state::running && queue_.read() < target) {
      queue_.poke();
      changed_.wait_until(mutex_, monotonic_ns() + flush_poll_ns);
    }
    return queue_.read() >= target;
  }

  // Empties the queue and closes the sink; true when everything is in the file. Gives up on a sink that
  // does not keep up, and leaves the rest in the tail.
  bool finish() noexcept {
    {
      locked guard(mutex_);
      deadline_ = monotonic_ns() + finish_ns;
      stopping_ = true;
    }
    queue_.poke();
    pthread_join(thread_, nullptr);
    return state_ == state::closed;
  }

  [[nodiscard]] const char* error() const noexcept { return error_; }

  // In the child of a fork: no other thread is left, and nothing but descriptors may be touched.
  void forked() const noexcept {
    if (handle_ != nullptr && sink_.struct_size >= sizeof(::numdiff_sink_v1) && sink_.forked != nullptr) {
      sink_.forked(handle_);
    }
  }

 private:
  enum class state { opening, running, failed, closed };
  static constexpr std::int64_t poll_ns = 20000000;  // how long a quiet queue is left alone
  static constexpr std::int64_t flush_poll_ns = 5000000;
  static constexpr std::int64_t commit_ns = 500000000;  // what is written is committed this late
  static constexpr std::int64_t finish_ns = 30000000000;
  static constexpr std::uint64_t most_at_once = std::uint64_t{4} << 20U;

  void main() noexcept {
    // The maker of this thread may trap floating-point exceptions.
    fesetenv(FE_DFL_ENV);
    if (!open()) return;
    while (true) {
      const bool stopping = sleep();
      if (!drain(stopping)) return;
      if (stopping) break;
    }
    close();
  }

  bool open() noexcept {
    char reason[512] = "";
    numdiff_sink_open_v1 o = {};
    o.struct_size = sizeof o;
    o.path = path_.c_str();
    o.run_id = who_.run_id.c_str();
    o.world_size = who_.world_size;
    o.rank = who_.rank;
    o.restart = who_.restart;
    o.flags = flags_;
    o.index_path = index_path_.c_str();
    void* handle = sink_.open(&o, reason, sizeof reason);
    locked guard(mutex_);
    handle_ = handle;
    state_ = handle != nullptr ? state::running : state::failed;
    if (handle == nullptr) say(reason[0] != '\0' ? reason : "the sink did not open");
    position_ = queue_.read();
    changed_.wake_all();
    return handle != nullptr;
  }

  // Until there is something to do; true when this is the last round.
  bool sleep() noexcept {
    queue_.sleep(monotonic_ns() + poll_ns);
    locked guard(mutex_);
    return stopping_;
  }

  bool drain(bool last) noexcept {
    const auto late = [&] { return last && monotonic_ns() > deadline_; };
    for (;;) {
      const message_queue::run r = queue_.next_run(position_, most_at_once);
      if (r.bytes == 0) break;
      if (late()) {
        fail("the sink did not keep up: the rest is in the tail");
        return false;
      }
      if (sink_.write(handle_, r.begin, r.bytes) != 0) {
        fail(sink_.last_error(handle_));
        return false;
      }
      last_id_ = r.last_id;
      if (position_ - queue_.read() > queue_.capacity() / 4 && !commit()) return false;
    }
    std::uint64_t target = 0;
    {
      locked guard(mutex_);
      target = flush_target_;
    }
    const bool due = last || target > queue_.read() || monotonic_ns() - committed_at_ > commit_ns;
    return position_ == queue_.read() || !due || commit();
  }

  bool commit() noexcept {
    if (sink_.commit(handle_, last_id_) != 0) {
      fail(sink_.last_error(handle_));
      return false;
    }
    committed_at_ = monotonic_ns();
    queue_.committed(position_);
    locked guard(mutex_);
    changed_.wake_all();
    return true;
  }

  void close() noexcept {
    const int status = sink_.close(handle_, 1);
    locked guard(mutex_);
    handle_ = nullptr;
    state_ = status == 0 ? state::closed : state::failed;
    if (status != 0) say("the run file could not be closed");
  }

  void fail(const char* reason) noexcept {
    {
      locked guard(mutex_);
      say(reason != nullptr && *reason != '\0' ? reason : "the sink failed");
    }
    failed_call_(failed_context_, error_);
    queue_.stop();
    sink_.close(handle_, 0);
    locked guard(mutex_);
    handle_ = nullptr;
    state_ = state::failed;
    changed_.wake_all();
  }

  void say(const char* reason) noexcept { std::snprintf(error_, sizeof error_, "%s", reason); }

  message_queue& queue_;
  const ::numdiff_sink_v1& sink_;
  std::string path_, index_path_;
  char error_[512] = "";
  identity who_;
  std::uint32_t flags_ = 0;
  void (*failed_call_)(void*, const char*) = nullptr;
  void* failed_context_ = nullptr;
  pthread_t thread_{};
  mutex mutex_;
  condition changed_;
  state state_ = state::opening;
  void* handle_ = nullptr;
  bool stopping_ = false;
  std::int64_t deadline_ = 0;
  std::uint64_t flush_target_ = 0;
  // Of the thread itself.
  std::uint64_t position_ = 0, last_id_ = 0;
  std::int64_t committed_at_ = 0;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
