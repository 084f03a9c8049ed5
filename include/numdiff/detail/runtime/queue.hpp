#pragma once
// The bounded queue between probes and the writer thread.
//
// Producers reserve room under a short lock, copy outside of it, and mark the message ready last. The
// writer takes messages in order; room is free again when the sink has committed them.
#include <atomic>
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/crc.hpp"
#include "numdiff/detail/runtime/locks.hpp"
#include "numdiff/detail/runtime/message_parts.hpp"
#include "numdiff/detail/tail.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

class message_queue {
 public:
  // Counts the bytes taken in `bytes`.
  message_queue(tail_header& header, unsigned char* ring, std::atomic<std::uint64_t>& bytes) noexcept
      : header_(header), ring_(ring), capacity_(header.capacity), bytes_(bytes) {}

  void limit(std::uint64_t budget_bytes, std::int64_t wait_ms) noexcept {
    budget_ = budget_bytes;
    wait_ns_ = wait_ms * 1000000;
  }

  // No larger message fits, however empty the queue is.
  [[nodiscard]] std::uint64_t largest() const noexcept { return capacity_ / 2; }

  // Writes as much of the message as there is room for; `written(kept)` is called before the copy, to
  // put into the row what was left out. False: not even the row.
  template <class Written>
  bool push(const message_parts& m, Written&& written) noexcept {
    keep kept = keep::values;
    unsigned char* at = reserve(m, kept);
    if (at == nullptr) return false;
    written(kept);
    m.write(at + sizeof(message_header), kept);
    auto* h = reinterpret_cast<message_header*>(at);
    h->check = crc32c_fast(at + sizeof(message_header), h->size - sizeof(message_header));
    __atomic_store_n(&h->ready, std::uint16_t{1}, __ATOMIC_RELEASE);
    return true;
  }
  bool push(const message_parts& m) noexcept {
    return push(m, [](keep) {});
  }

  // Writer: the next run of complete messages behind `position`, without fillers. Moves `position`
  // over it; an empty run when there is none.
  struct run {
    const unsigned char* begin = nullptr;
    std::uint64_t bytes = 0;
    std::uint64_t last_id = 0;
  };
  run next_run(std::uint64_t& position, std::uint64_t most_bytes) const noexcept {
    run r;
    const std::uint64_t end = __atomic_load_n(&header_.write, __ATOMIC_ACQUIRE);
    while (position < end) {
      const auto* h = reinterpret_cast<const message_header*>(ring_ + position % capacity_);
      if (h->kind == message_filler) {
        if (r.bytes != 0) break;
        position += h->size;
        continue;
      }
      if (__atomic_load_n(&h->ready, __ATOMIC_ACQUIRE) != 1) break;
      if (r.bytes != 0 && (r.bytes + h->size > most_bytes || position % capacity_ == 0)) break;
      if (r.bytes == 0) r.begin = reinterpret_cast<const unsigned char*>(h);
      r.bytes += h->size;
      r.last_id = h->id;
      position += h->size;
    }
    return r;
  }
  // Writer: everything before `position` is in the run file.
  void committed(std::uint64_t position) noexcept {
    locked guard(mutex_);
    __atomic_store_n(&header_.read, position, __ATOMIC_RELEASE);
    room_.wake_all();
  }
  // Nobody empties the queue any more.
  void stop() noexcept {
    locked guard(mutex_);
    stopped_ = true;
    room_.wake_all();
  }

  [[nodiscard]] std::uint64_t written() const noexcept {
    return __atomic_load_n(&header_.write, __ATOMIC_ACQUIRE);
  }
  [[nodiscard]] std::uint64_t read() const noexcept {
    return __atomic_load_n(&header_.read, __ATOMIC_ACQUIRE);
  }
  [[nodiscard]] std::uint64_t capacity() const noexcept { return capacity_; }

  // Writer: sleeps until `deadline`, or until the queue fills up or somebody pokes it.
  void sleep(std::int64_t deadline) noexcept {
    locked guard(mutex_);
    if (!urgent_) work_.wait_until(mutex_, deadline);
    urgent_ = false;
  }
  void poke() noexcept {
    locked guard(mutex_);
    wake_writer();
  }

 private:
  // The lock is held.
  void wake_writer() noexcept {
    if (!urgent_) work_.wake_all();
    urgent_ = true;
  }

  // Room that must stay free behind a message of this class, so that rows outlive values.
  [[nodiscard]] std::uint64_t reserve_of(keep class_of) const noexcept {
    return class_of == keep::row ? 0 : capacity_ >> (6U - static_cast<unsigned>(class_of));
  }

  // The lock is held.
  [[nodiscard]] bool fits(std::uint64_t size, keep class_of) const noexcept {
    const std::uint64_t write = header_.write;
    const std::uint64_t to_end = capacity_ - write % capacity_;
    const std::uint64_t need = size + (size > to_end ? to_end : 0);
    const std::uint64_t used = write - __atomic_load_n(&header_.read, __ATOMIC_ACQUIRE);
    return size <= largest() && used + need + reserve_of(class_of) <= capacity_;
  }

  unsigned char* reserve(const message_parts& m, keep& kept) noexcept {
    locked guard(mutex_);
    const std::uint64_t whole = m.size();
    const keep top = class_of(m);
    if (wait_ns_ > 0 && !fits(whole, top) && whole <= largest() - reserve_of(top)) {
      const std::int64_t deadline = monotonic_ns() + wait_ns_;
      wake_writer();
      while (!stopped_ && !fits(whole, top) && monotonic_ns() < deadline) room_.wait_until(mutex_, deadline);
    }
    for (kept = top;; kept = static_cast<keep>(static_cast<int>(kept) - 1)) {
      const std::uint64_t size = m.size(kept);
      const std::uint64_t spent = bytes_.load(std::memory_order_relaxed);
      const bool affordable = budget_ == 0 || spent + size <= budget_;
      if (affordable && fits(size, kept)) return take(m, size);
      if (kept == keep::row) return nullptr;
    }
  }

  // The lock is held, and the room is there.
  unsigned char* take(const message_parts& m, std::uint64_t size) noexcept {
    std::uint64_t write = header_.write;
    const std::uint64_t to_end = capacity_ - write % capacity_;
    if (size > to_end) {
      const std::uint32_t filler[2] = {static_cast<std::uint32_t>(to_end), message_filler};
      __builtin_memcpy(ring_ + write % capacity_, filler, sizeof filler);
      write += to_end;
    }
    unsigned char* at = ring_ + write % capacity_;
    auto* h = reinterpret_cast<message_header*>(at);
    h->size = static_cast<std::uint32_t>(size);
    h->kind = m.kind();
    __atomic_store_n(&h->ready, std::uint16_t{0}, __ATOMIC_RELAXED);
    h->id = next_id_++;
    h->row_bytes = m.row_bytes();
    h->check = 0;
    write += size;
    __atomic_store_n(&header_.write, write, __ATOMIC_RELEASE);
    bytes_.fetch_add(size, std::memory_order_relaxed);
    if (write - __atomic_load_n(&header_.read, __ATOMIC_RELAXED) > capacity_ / 8) wake_writer();
    return at;
  }

  static keep class_of(const message_parts& m) noexcept {
    for (const keep k : {keep::values, keep::sketch, keep::histogram}) {
      if (m.has(k)) return k;
    }
    return keep::row;
  }

  tail_header& header_;
  unsigned char* ring_;
  const std::uint64_t capacity_;
  mutex mutex_;
  condition room_, work_;
  bool urgent_ = false;
  std::uint64_t next_id_ = 1;
  std::uint64_t budget_ = 0;
  std::int64_t wait_ns_ = 0;
  bool stopped_ = false;
  std::atomic<std::uint64_t>& bytes_;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
