#pragma once
// A mutex and a condition with a monotonic clock; std::mutex and its kin are not needed for more.
#include <pthread.h>
#include <time.h>

#include <cstdint>

namespace numdiff {
inline namespace v1 {
namespace detail {

class mutex {
 public:
  mutex() noexcept { pthread_mutex_init(&native_, nullptr); }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;
  ~mutex() { pthread_mutex_destroy(&native_); }
  void lock() noexcept { pthread_mutex_lock(&native_); }
  void unlock() noexcept { pthread_mutex_unlock(&native_); }
  pthread_mutex_t* native() noexcept { return &native_; }

 private:
  pthread_mutex_t native_;
};

class locked {
 public:
  explicit locked(mutex& m) noexcept : mutex_(m) { mutex_.lock(); }
  locked(const locked&) = delete;
  locked& operator=(const locked&) = delete;
  ~locked() { mutex_.unlock(); }

 private:
  mutex& mutex_;
};

// Nanoseconds since an arbitrary start; the clock of ops and captures.
inline std::int64_t monotonic_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

// Nanoseconds since 1970.
inline std::int64_t wall_ns() noexcept {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

class condition {
 public:
  condition() noexcept {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&native_, &attributes);
    pthread_condattr_destroy(&attributes);
  }
  condition(const condition&) = delete;
  condition& operator=(const condition&) = delete;
  ~condition() { pthread_cond_destroy(&native_); }

  void wake_all() noexcept { pthread_cond_broadcast(&native_); }
  // The mutex is held. May return early.
  void wait_until(mutex& m, std::int64_t deadline_ns) noexcept {
    timespec t{};
    t.tv_sec = static_cast<time_t>(deadline_ns / 1000000000);
    t.tv_nsec = static_cast<long>(deadline_ns % 1000000000);
    pthread_cond_timedwait(&native_, m.native(), &t);
  }
  void wait(mutex& m) noexcept { pthread_cond_wait(&native_, m.native()); }

 private:
  pthread_cond_t native_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
