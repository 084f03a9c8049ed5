#pragma once
// Opening and closing a run's recording. Needs numdiff::runtime, or NUMDIFF_IMPLEMENTATION defined
// before this include in one file of the program (link with -ldl -lpthread).
#include <cstdint>

#include "numdiff/abi.h"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {

// What the environment does not say: NUMDIFF_FILE, _LEVEL, _SELECT, _STEPS, _BUDGET, _CONFIG,
// _RUN_ID, _RANK, _WORLD_SIZE, _QUEUE, _WAIT_MS win over these (docs/macros.md).
struct session_options {
  const char* file = nullptr;                     // "run_a.h5"
  numdiff::level level = numdiff::level::sketch;  // of what `select` lets through
  const char* select = nullptr;                   // globs over "scope/op": "decoder.layer.*,loss/*=tensors"
  const char* steps = nullptr;                    // "0:10", "3", "0:1000:50", joined with commas
  std::uint64_t budget = 0;                       // bytes, 0 unlimited
  const char* run_id = nullptr;                   // equal on all ranks; drawn at random for one rank
  std::int32_t world_size = -1;                   // -1: as the launcher says, else 1
  std::int32_t rank = -1;
  std::int64_t wait_ms = 0;  // how long a probe may wait for room before it drops
  std::uint64_t queue_bytes = std::uint64_t{64} << 20U;
  const char* config = nullptr;  // file of lines "key = value" with these names
  std::int32_t restart = 0;      // how often this run was resumed before
};

using statistics = numdiff_statistics_v1;

// One session a process at a time. Nothing throws: a session that could not be opened is inactive,
// its probes record nothing, and last_error() says why. A session that the environment opened before
// is taken over.
class session {
 public:
  explicit session(const session_options& o) noexcept {
    numdiff_session_v1 raw = {};
    raw.struct_size = sizeof raw;
    raw.level = static_cast<std::uint16_t>(o.level);
    raw.file = o.file;
    raw.config = o.config;
    raw.select = o.select;
    raw.steps = o.steps;
    raw.run_id = o.run_id;
    raw.budget = o.budget;
    raw.queue_bytes = o.queue_bytes;
    raw.wait_ms = o.wait_ms;
    raw.world_size = o.world_size;
    raw.rank = o.rank;
    raw.restart = o.restart;
    handle_ = numdiff_v1_session_open(&raw);
  }
  session(const session&) = delete;
  session& operator=(const session&) = delete;
  ~session() { close(); }

  // False after a failure to open or to write.
  [[nodiscard]] bool active() const noexcept { return handle_ != 0 && statistics().active != 0; }
  [[nodiscard]] static const char* last_error() noexcept { return numdiff_v1_last_error(); }
  [[nodiscard]] static numdiff::statistics statistics() noexcept {
    numdiff::statistics s = {};
    s.struct_size = sizeof s;
    numdiff_v1_statistics(&s);
    return s;
  }

  // An axis of the device mesh that views name, and this rank's coordinate on it.
  void mesh(const char* axis, std::int32_t size, std::int32_t coordinate) const noexcept {
    numdiff_v1_session_mesh(handle_, axis, size, coordinate);
  }
  void manifest(const char* key, const char* value,
                manifest_class c = manifest_class::numeric) const noexcept {
    numdiff_v1_session_manifest(handle_, key, value, static_cast<std::uint16_t>(c));
  }
  // Optimizer updates applied so far; a skipped step leaves it.
  void set_update(std::int64_t n) const noexcept { numdiff_v1_session_update(handle_, n); }
  // Everything captured before is in the file when it returns true.
  bool flush() const noexcept { return numdiff_v1_session_flush(handle_) == 0; }
  void close() noexcept {
    if (handle_ != 0) numdiff_v1_session_close(handle_);
    handle_ = 0;
  }

 private:
  std::uint64_t handle_ = 0;
};

}  // namespace v1
}  // namespace numdiff

#ifdef NUMDIFF_IMPLEMENTATION
#include "numdiff/detail/runtime/implementation.hpp"
#endif
