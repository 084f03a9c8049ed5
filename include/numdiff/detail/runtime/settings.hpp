#pragma once
// What a session is to do: its options, then a configuration file, then the environment; the last wins.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/selection.hpp"
#include "numdiff/terms.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// X(name in configuration files, name in the environment): every setting, once.
#define NUMDIFF_DETAIL_SETTINGS(X)    \
  X(file, "NUMDIFF_FILE")             \
  X(level, "NUMDIFF_LEVEL")           \
  X(select, "NUMDIFF_SELECT")         \
  X(steps, "NUMDIFF_STEPS")           \
  X(budget, "NUMDIFF_BUDGET")         \
  X(run_id, "NUMDIFF_RUN_ID")         \
  X(rank, "NUMDIFF_RANK")             \
  X(world_size, "NUMDIFF_WORLD_SIZE") \
  X(queue, "NUMDIFF_QUEUE")           \
  X(wait_ms, "NUMDIFF_WAIT_MS")       \
  X(restart, "NUMDIFF_RESTART")       \
  X(shards, "NUMDIFF_SHARDS")

struct settings {
  std::string file, select, steps, run_id;
  numdiff::level level = level::off;
  std::uint64_t budget = 0;  // bytes, 0 unlimited
  std::uint64_t queue = std::uint64_t{64} << 20U;
  std::int64_t wait_ms = 0;
  std::int64_t rank = -1, world_size = -1;  // -1 not told
  std::int64_t restart = -1;
  std::vector<std::pair<std::string, std::int32_t>> shards;  // mesh axis and the ranks on it
  op_selection ops;
  step_selection step_ranges;
};

// "4096", "64M": K, M, G and T are powers of 1024.
inline bool parse_bytes(std::string_view words, std::uint64_t& value) noexcept {
  if (words.empty()) return false;
  unsigned shift = 0;
  switch (words.back()) {
    case 'K': shift = 10; break;
    case 'M': shift = 20; break;
    case 'G': shift = 30; break;
    case 'T': shift = 40; break;
    default: break;
  }
  if (shift != 0) words.remove_suffix(1);
  std::int64_t number = 0;
  if (!parse_integer(words, number) || number < 0 || number > (INT64_MAX >> shift)) return false;
  value = static_cast<std::uint64_t>(number) << shift;
  return true;
}

// "tp=4,dp=2"
inline bool parse_shards(std::string_view words, std::vector<std::pair<std::string, std::int32_t>>& all) {
  all.clear();
  while (!words.empty()) {
    const std::size_t end = words.find(',');
    const std::string_view one = trimmed(words.substr(0, end));
    words = end == std::string_view::npos ? std::string_view() : words.substr(end + 1);
    const std::size_t equals = one.find('=');
    std::int64_t ranks = 0;
    if (equals == 0 || equals == std::string_view::npos || !parse_integer(one.substr(equals + 1), ranks) ||
        ranks < 1 || ranks > INT32_MAX)
      return false;
    all.emplace_back(one.substr(0, equals), static_cast<std::int32_t>(ranks));
  }
  return true;
}

// False: `text` is no value for the setting `name`. An unknown name is one, too.
inline bool assign(settings& s, std::string_view name, std::string_view words) {
  const auto natural = [&](std::int64_t& value, std::int64_t least) {
    return parse_integer(words, value) && value >= least && value <= INT32_MAX;
  };
  if (name == "file") return s.file = words, true;
  if (name == "select") return s.select = words, true;
  if (name == "steps") return s.steps = words, true;
  if (name == "run_id") return s.run_id = words, words.size() < 64;
  if (name == "level") return parse_level(words, s.level);
  if (name == "budget") return parse_bytes(words, s.budget);
  if (name == "queue") return parse_bytes(words, s.queue);
  if (name == "wait_ms") return natural(s.wait_ms, 0);
  if (name == "rank") return natural(s.rank, 0);
  if (name == "world_size") return natural(s.world_size, 1);
  if (name == "restart") return natural(s.restart, 0);
  if (name == "shards") return parse_shards(words, s.shards);
  return false;
}

inline bool read_config(settings& s, const std::string& path, std::string& error) {
  std::FILE* file = std::fopen(path.c_str(), "re");
  if (file == nullptr) {
    error = "NUMDIFF_CONFIG: cannot read " + path;
    return false;
  }
  std::string words;
  char buffer[4096];
  for (std::size_t n; (n = std::fread(buffer, 1, sizeof buffer, file)) != 0 && words.size() < (1U << 20U);) {
    words.append(buffer, n);
  }
  std::fclose(file);
  std::string_view rest = words;
  for (int line = 1; !rest.empty(); ++line) {
    const std::size_t end = rest.find('\n');
    const std::string_view whole = rest.substr(0, end);
    const std::string_view content = trimmed(whole.substr(0, whole.find('#')));
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (content.empty()) continue;
    const std::size_t equals = content.find('=');
    if (equals == std::string_view::npos ||
        !assign(s, trimmed(content.substr(0, equals)), trimmed(content.substr(equals + 1)))) {
      error = path + ":" + std::to_string(line) + ": not a setting: " + std::string(content);
      return false;
    }
  }
  return true;
}

inline const char* environment(const char* name) noexcept {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

// Fills `s`; false with a reason when something given has no meaning.
inline bool collect_settings(settings& s, const numdiff_session_v1& o, std::string& error) {
  const auto words = [](const char* t) { return std::string(t == nullptr ? "" : t); };
  s.file = words(o.file);
  s.select = words(o.select);
  s.steps = words(o.steps);
  s.run_id = words(o.run_id);
  if (s.run_id.size() >= 64) {
    error = "run_id is longer than 63 characters";
    return false;
  }
  s.level = static_cast<numdiff::level>(o.level <= 3 ? o.level : 3);
  s.budget = o.budget;
  if (o.queue_bytes != 0) s.queue = o.queue_bytes;
  s.wait_ms = o.wait_ms > 0 ? o.wait_ms : 0;
  s.rank = o.rank;
  s.world_size = o.world_size;
  s.restart = o.restart != 0 ? o.restart : -1;

  const char* config = environment("NUMDIFF_CONFIG");
  if (config == nullptr && o.config != nullptr && *o.config != '\0') config = o.config;
  if (config != nullptr && !read_config(s, config, error)) return false;

#define NUMDIFF_DETAIL_FROM_ENVIRONMENT(name, variable)                                          \
  if (const char* value = environment(variable); value != nullptr && !assign(s, #name, value)) { \
    error = std::string(variable) + ": not a value: " + value;                                   \
    return false;                                                                                \
  }
  NUMDIFF_DETAIL_SETTINGS(NUMDIFF_DETAIL_FROM_ENVIRONMENT)
#undef NUMDIFF_DETAIL_FROM_ENVIRONMENT

  if (!s.ops.parse(s.select, s.level)) {
    error = "select: not a list of patterns: " + s.select;
    return false;
  }
  if (!s.step_ranges.parse(s.steps)) {
    error = "steps: not a list of ranges: " + s.steps;
    return false;
  }
  return true;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
