#pragma once
// One open session: its settings, queue and writer, and what is numbered in it.
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/counters.hpp"
#include "numdiff/detail/runtime/launcher.hpp"
#include "numdiff/detail/runtime/mesh.hpp"
#include "numdiff/detail/runtime/queue.hpp"
#include "numdiff/detail/runtime/settings.hpp"
#include "numdiff/detail/runtime/tail_file.hpp"
#include "numdiff/detail/runtime/writer.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

class session_state {
 public:
  explicit session_state(counters& counts) noexcept : counts_(counts) {}

  // False with a reason. `failed` is called later, on another thread, when the sink stops working.
  bool open(const numdiff_session_v1& options, void (*failed)(void*, const char*), void* context,
            std::string& error) {
    if (!collect_settings(options_, options, error)) return false;
    if (options_.level == level::off && options_.select.empty()) {
      error = "level is off";
      return false;
    }
    if (options_.file.empty()) {
      error = "no file was given";
      return false;
    }
    options_.file = absolute_path(options_.file);
    if (!collect_identity(who_, options_, error)) return false;
    const ::numdiff_sink_v1* sink = load_sink(error);
    if (sink == nullptr) return false;
    const std::string path = rank_file(options_.file, who_);
    if (!tail_.open(path, ring_bytes(options_.queue), who_, error)) return false;
    queue_ = std::make_unique<message_queue>(tail_.header(), tail_.ring(), counts_.bytes);
    queue_->limit(options_.budget, options_.wait_ms);
    writer_ = std::make_unique<writer>(*queue_, *sink);
    const bool tensors =
        options_.level == level::tensors || options_.select.find("tensors") != std::string::npos;
    const std::uint32_t flags = tensors ? NUMDIFF_SINK_TENSORS : 0;
    if (writer_->start(path, options_.file, who_, flags, failed, context)) return true;
    error = writer_->error();
    tail_.remove();
    return false;
  }

  // Nobody records any more. True when everything is in the file; otherwise the tail stays.
  bool finish() noexcept {
    // The last word about drops needs room, and is not a matter of the budget.
    queue_->limit(0, last_word_ms);
    report_drops();
    const bool proper = writer_->finish();
    if (proper) tail_.remove();
    return proper;
  }

  [[nodiscard]] const settings& options() const noexcept { return options_; }
  [[nodiscard]] const identity& who() const noexcept { return who_; }
  [[nodiscard]] const tail_file& tail() const noexcept { return tail_; }
  // In the child of a fork; async-signal-safe.
  void forked() noexcept {
    writer_->forked();
    tail_.close_file();
  }
  [[nodiscard]] message_queue& queue() noexcept { return *queue_; }
  [[nodiscard]] writer& output() noexcept { return *writer_; }
  [[nodiscard]] device_mesh& mesh() noexcept { return mesh_; }
  [[nodiscard]] counters& counts() noexcept { return counts_; }

  std::uint64_t next_seq() noexcept { return seq_.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::atomic<std::int64_t> update{-1};

  // Queues a message that is whole or not there; drops before it are reported first.
  bool push(const message_parts& m) noexcept {
    return push(m, [](keep) {});
  }
  template <class Written>
  bool push(const message_parts& m, Written&& written) noexcept {
    report_drops();
    return queue_->push(m, written);
  }

  void manifest(std::string_view key, std::string_view value, manifest_class klass) noexcept {
    manifest_row row{};
    row.time = wall_ns();
    row.klass = static_cast<std::uint16_t>(klass);
    message_parts m(message_kind::manifest, row);
    m.add(field::key, key);
    m.add(field::value, value);
    if (!push(m)) counters::add(counts_.dropped_events);
  }

  // Tells the reader what was dropped since the last time.
  void report_drops() noexcept {
    if (counts_.any_dropped() == reported_sum_.load(std::memory_order_relaxed)) return;
    locked guard(drop_mutex_);
    const drop_row total = counts_.dropped();
    drop_row row{};
    row.captures = total.captures - reported_.captures;
    row.ops = total.ops - reported_.ops;
    row.events = total.events - reported_.events;
    row.values = total.values - reported_.values;
    row.sketches = total.sketches - reported_.sketches;
    row.histograms = total.histograms - reported_.histograms;
    if ((row.captures | row.ops | row.events | row.values | row.sketches | row.histograms) == 0) return;
    if (!queue_->push(message_parts(message_kind::drop, row))) return;
    reported_ = total;
    reported_sum_.store(counters::sum(total), std::memory_order_relaxed);
  }

 private:
  static constexpr std::int64_t last_word_ms = 10000;
  static std::uint64_t ring_bytes(std::uint64_t asked) noexcept {
    constexpr std::uint64_t least = std::uint64_t{64} << 10U, most = std::uint64_t{4} << 30U;
    const std::uint64_t bytes = asked < least ? least : asked > most ? most : asked;
    return bytes & ~std::uint64_t{4095};
  }

  settings options_;
  identity who_;
  tail_file tail_;
  std::unique_ptr<message_queue> queue_;
  std::unique_ptr<writer> writer_;
  device_mesh mesh_;
  counters& counts_;
  std::atomic<std::uint64_t> seq_{0};
  mutex drop_mutex_;
  drop_row reported_{};
  std::atomic<std::uint64_t> reported_sum_{0};
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
