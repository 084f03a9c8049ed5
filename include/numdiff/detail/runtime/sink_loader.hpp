#pragma once
// Finding and loading the sink, a shared object of its own.
#include <dlfcn.h>
#include <unistd.h>

#include <string>

#include "numdiff/abi.h"
#include "numdiff/detail/runtime/settings.hpp"
#include "numdiff/detail/sink.h"

namespace numdiff {
inline namespace v1 {
namespace detail {

// RTLD_LOCAL and RTLD_DEEPBIND keep the sink's libraries apart from the host's own copies; sanitizers
// refuse the latter.
inline int sink_load_flags() noexcept {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return RTLD_NOW | RTLD_LOCAL;
#else
#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
  return RTLD_NOW | RTLD_LOCAL;
#endif
#endif
  return RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
#endif
}

// Null with a reason. The sink stays loaded until the process ends.
inline const ::numdiff_sink_v1* load_sink(std::string& error) {
  constexpr const char* name = "libnumdiff_hdf5.so";
  std::string path;
  if (const char* told = environment("NUMDIFF_SINK")) {
    path = told;
  } else {
    Dl_info self{};
    std::string beside;
    // Not an exported symbol: programs hold copies of those.
    if (dladdr(reinterpret_cast<void*>(&load_sink), &self) != 0 && self.dli_fname != nullptr)
      beside = self.dli_fname;
    beside.erase(beside.find_last_of('/') == std::string::npos ? 0 : beside.find_last_of('/') + 1);
    for (const std::string& candidate : {beside + name, beside + "numdiff/" + name}) {
      if (path.empty() && access(candidate.c_str(), R_OK) == 0) path = candidate;
    }
    if (path.empty()) path = name;
  }
  void* library = dlopen(path.c_str(), sink_load_flags());
  if (library == nullptr) {
    const char* reason = dlerror();
    error = std::string("the sink cannot be loaded: ") + (reason == nullptr ? path.c_str() : reason);
    return nullptr;
  }
  const auto* sink = static_cast<const ::numdiff_sink_v1*>(dlsym(library, "numdiff_sink_v1"));
  if (sink == nullptr || sink->struct_size < offsetof(::numdiff_sink_v1, forked)) {
    error = path + " is no sink of numdiff";
    return nullptr;
  }
  return sink;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
