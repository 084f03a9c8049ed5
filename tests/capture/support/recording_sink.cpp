// A sink for tests: appends the messages to the file `path`, and misbehaves as the environment says:
//   NUMDIFF_TEST_SINK=slow:MS     every write sleeps
//                     fail:N      the N-th write fails
//                     refuse      does not open
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>

#include "numdiff/detail/sink.h"

namespace {

struct sink {
  std::FILE* file = nullptr;
  std::string error;
  std::string mode;
  long number = 0;
  long writes = 0;
};

void* sink_open(const numdiff_sink_open_v1* o, char* error, std::size_t room) {
  auto* s = new sink;
  if (const char* mode = std::getenv("NUMDIFF_TEST_SINK")) {
    s->mode = mode;
    const std::size_t colon = s->mode.find(':');
    if (colon != std::string::npos) s->number = std::atol(s->mode.c_str() + colon + 1);
    s->mode.resize(std::min(colon, s->mode.size()));
  }
  s->file = s->mode == "refuse" ? nullptr : std::fopen(o->path, "wb");
  if (s->file != nullptr) return s;
  std::snprintf(error, room, "cannot write %s", o->path);
  delete s;
  return nullptr;
}

int sink_write(void* handle, const void* messages, std::size_t bytes) {
  auto* s = static_cast<sink*>(handle);
  ++s->writes;
  if (s->mode == "slow") std::this_thread::sleep_for(std::chrono::milliseconds(s->number));
  if (s->mode == "fail" && s->writes >= s->number) {
    s->error = "the disk is full";
    return 1;
  }
  return std::fwrite(messages, 1, bytes, s->file) == bytes ? 0 : 1;
}

int sink_commit(void* handle, std::uint64_t /*last_id*/) {
  return std::fflush(static_cast<sink*>(handle)->file);
}

int sink_close(void* handle, int /*proper*/) {
  auto* s = static_cast<sink*>(handle);
  const int status = std::fclose(s->file);
  delete s;
  return status;
}

const char* sink_last_error(void* handle) {
  return static_cast<sink*>(handle)->error.c_str();
}

// A child that exits would write what the file buffered once more.
void sink_forked(void* handle) {
  ::close(::fileno(static_cast<sink*>(handle)->file));
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const struct numdiff_sink_v1 numdiff_sink_v1;
const struct numdiff_sink_v1 numdiff_sink_v1 = {sizeof(struct numdiff_sink_v1),
                                                sink_open,
                                                sink_write,
                                                sink_commit,
                                                sink_close,
                                                sink_last_error,
                                                sink_forked};
