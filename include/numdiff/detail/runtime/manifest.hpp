#pragma once
// What is worth knowing about the process when two runs differ.
#include <sys/utsname.h>
#include <unistd.h>

#include <cfenv>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>
#include <string_view>

#include "numdiff/detail/runtime/observe.hpp"
#include "numdiff/detail/runtime/session_state.hpp"
#include "numdiff/version.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

// At most `most` bytes of a file of /proc or /sys; "" when it cannot be read.
inline std::string read_text(const char* path, std::size_t most) {
  std::string words;
  if (std::FILE* file = std::fopen(path, "re")) {
    words.resize(most);
    words.resize(std::fread(words.data(), 1, most, file));
    std::fclose(file);
  }
  return words;
}

inline std::string cpu_model() {
  const std::string info = read_text("/proc/cpuinfo", 4096);
  const std::size_t key = info.find("model name");
  if (key == std::string::npos) return {};
  const std::size_t colon = info.find(':', key);
  const std::size_t end = info.find('\n', key);
  if (colon == std::string::npos || colon > end) return {};
  return std::string(trimmed(std::string_view(info).substr(colon + 1, end - colon - 1)));
}

inline std::string command_line() {
  std::string words = read_text("/proc/self/cmdline", 4096);
  while (!words.empty() && words.back() == '\0') words.pop_back();
  for (char& c : words) {
    if (c == '\0') c = ' ';
  }
  return words;
}

inline const char* rounding_mode() noexcept {
  switch (std::fegetround()) {
    case FE_TONEAREST: return "nearest";
    case FE_TOWARDZERO: return "toward_zero";
    case FE_UPWARD: return "up";
    case FE_DOWNWARD: return "down";
    default: return "unknown";
  }
}

// Names and paths of the loaded libraries that compute, one a line.
inline std::string computing_libraries() {
  constexpr std::string_view known[] = {"blas",    "mkl",     "lapack", "dnnl",    "libnccl",
                                        "libmpi",  "cublas",  "cudnn",  "libgomp", "libomp",
                                        "libiomp", "librccl", "torch"};
  std::string found;
  std::FILE* maps = std::fopen("/proc/self/maps", "re");
  if (maps == nullptr) return found;
  char line[1024];
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    const std::string_view whole(line);
    const std::size_t slash = whole.find('/');
    if (slash == std::string_view::npos) continue;
    const std::string_view path = trimmed(whole.substr(slash, whole.find('\n') - slash));
    const std::string_view file = path.substr(path.rfind('/') + 1);
    if (file.find(".so") == std::string_view::npos) continue;
    for (const std::string_view name : known) {
      if (file.find(name) == std::string_view::npos) continue;
      const std::string entry = std::string(path) + '\n';
      if (found.find(entry) == std::string::npos) found += entry;
      break;
    }
  }
  std::fclose(maps);
  if (!found.empty()) found.pop_back();
  return found;
}

inline void manifest_of_session(session_state& s) {
  const settings& o = s.options();
  constexpr const char* levels[] = {"off", "stats", "sketch", "tensors"};
  const auto record = [&](const char* key, std::string_view value) {
    s.manifest(key, value, manifest_class::record);
  };
  record("numdiff.version", std::to_string(NUMDIFF_VERSION_MAJOR) + '.' +
                                std::to_string(NUMDIFF_VERSION_MINOR) + '.' +
                                std::to_string(NUMDIFF_VERSION_PATCH));
  record("digest.version", std::to_string(digest_version));
  record("sketch.version", std::to_string(sketch_version));
  record("level", levels[static_cast<std::uint16_t>(o.level)]);
  record("select", o.select);
  record("steps", o.steps);
  record("budget", std::to_string(o.budget));
  s.manifest("storage.queue",
             s.tail().anonymous_because().empty() ? "file" : "memory: " + s.tail().anonymous_because(),
             manifest_class::performance);
}

inline void manifest_of_process(session_state& s) {
  const auto identity = [&](const char* key, std::string_view value) {
    s.manifest(key, value, manifest_class::identity);
  };
  const std::string command = command_line();
  const std::string program = command.substr(0, command.find(' '));
  s.manifest("program", program.substr(program.rfind('/') + 1), manifest_class::record);
  identity("command", command);
  identity("pid", std::to_string(getpid()));
  utsname host{};
  if (uname(&host) == 0) {
    identity("hostname", host.nodename);
    s.manifest("os", std::string(host.sysname) + ' ' + host.release, manifest_class::performance);
  }
  char start[32] = "";
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  if (gmtime_r(&now, &utc) != nullptr) std::strftime(start, sizeof start, "%Y-%m-%dT%H:%M:%SZ", &utc);
  identity("start_time", start);
}

inline void manifest_of_numerics(session_state& s) {
  const auto numeric = [&](const char* key, std::string_view value) {
    s.manifest(key, value, manifest_class::numeric);
  };
  numeric("cpu.model", cpu_model());
  numeric("cpu.threads", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  numeric("fp.rounding", rounding_mode());
#if defined(__SSE2__)
  const unsigned control = _mm_getcsr();
  numeric("fp.flush_to_zero", (control & 0x8000U) != 0 ? "on" : "off");
  numeric("fp.denormals_are_zero", (control & 0x0040U) != 0 ? "on" : "off");
#endif
#if defined(__clang__)
  numeric("compiler", "clang " __clang_version__);
#else
  numeric("compiler", "gcc " __VERSION__);
#endif
  numeric("libraries", computing_libraries());
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_SCHEDULE", "MKL_NUM_THREADS", "MKL_CBWR",
                           "OPENBLAS_NUM_THREADS", "CUBLAS_WORKSPACE_CONFIG", "NVIDIA_TF32_OVERRIDE",
                           "NCCL_ALGO", "NCCL_PROTO", "PYTHONHASHSEED"}) {
    if (const char* value = environment(name)) numeric((std::string("env.") + name).c_str(), value);
  }
}

inline void collect_manifest(session_state& s) noexcept {
  try {
    manifest_of_session(s);
    manifest_of_process(s);
    manifest_of_numerics(s);
  } catch (...) {
    counters::add(s.counts().dropped_events);
  }
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
