// The C functions of libnumdiff_hdf5.so: nothing thrown, printed or left running.
#include "numdiff/detail/sink.h"

#include <cstdio>
#include <exception>
#include <memory>
#include <span>
#include <string>

#include "store/file_system.hpp"
#include "store/hdf5.hpp"
#include "store/index_file.hpp"
#include "store/run_writer.hpp"
#include "store/table_file.hpp"
#include "store/views.hpp"

namespace {

using namespace numdiff::store;

struct sink {
  std::string path;
  std::unique_ptr<run_writer> writer;
  std::string failure;
};

// Runs f; on failure the file is left as it is on disk, and the reason is kept.
template <class F>
int guarded(void* handle, F&& f) noexcept {
  auto* s = static_cast<sink*>(handle);
  try {
    if (!s->failure.empty()) return -1;
    const h5::quiet no_printing;
    try {
      f(*s);
      return 0;
    } catch (const std::exception& e) {
      s->failure = e.what();
      s->writer->abandon();
    }
  } catch (...) {
    // Not even the reason could be kept.
  }
  return -1;
}

void* sink_open(const numdiff_sink_open_v1* o, char* error, size_t error_bytes) noexcept {
  const auto say = [&](const char* reason) {
    if (error != nullptr && error_bytes > 0) std::snprintf(error, error_bytes, "%s", reason);
  };
  try {
    if (o->struct_size < sizeof(*o)) {
      say("the sink is newer than the runtime");
      return nullptr;
    }
    // A host may exit() in a forked child: HDF5's exit handler would write there into our file.
    H5dont_atexit();
    if (const std::string problem = h5::library_problem(); !problem.empty()) {
      say(problem.c_str());
      return nullptr;
    }
    const h5::quiet no_printing;
    auto s = std::make_unique<sink>();
    s->path = absolute(o->path);
    s->writer = std::make_unique<run_writer>(
        s->path, run_identity{o->run_id != nullptr ? o->run_id : "", o->world_size, o->rank, o->restart,
                              (o->flags & NUMDIFF_SINK_TENSORS) != 0});
    if (o->world_size > 1 && o->index_path != nullptr)
      write_index(absolute(o->index_path), o->run_id != nullptr ? o->run_id : "", o->world_size, o->rank);
    return s.release();
  } catch (const std::exception& e) {
    say(e.what());
  } catch (...) {
    say("the run file cannot be opened");
  }
  return nullptr;
}

int sink_write(void* handle, const void* messages, size_t bytes) noexcept {
  return guarded(handle, [&](sink& s) { s.writer->write({static_cast<const std::byte*>(messages), bytes}); });
}

int sink_commit(void* handle, uint64_t last_id) noexcept {
  return guarded(handle, [&](sink& s) { s.writer->commit(last_id); });
}

int sink_close(void* handle, int proper) noexcept {
  const std::unique_ptr<sink> s(static_cast<sink*>(handle));
  if (proper == 0) {
    if (s->failure.empty()) s->writer->abandon();
    return 0;
  }
  const int status = guarded(s.get(), [](sink& open) { open.writer->close(); });
  if (status != 0) return status;
  try {
    const h5::quiet no_printing;
    if (s->writer->taken().stored() <= views_at_close) make_views(s->path, view_options{.isolate = false});
  } catch (...) {
    // The run file is complete; `numdiff views` makes them later and says what is wrong.
  }
  return 0;
}

const char* sink_last_error(void* handle) noexcept {
  return static_cast<sink*>(handle)->failure.c_str();
}

void sink_forked(void* handle) noexcept {
  auto* s = static_cast<sink*>(handle);
  if (s->writer) silence(s->writer->descriptor());
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const numdiff_sink_v1 numdiff_sink_v1;
const struct numdiff_sink_v1 numdiff_sink_v1 = {
    sizeof(struct numdiff_sink_v1),
    sink_open,
    sink_write,
    sink_commit,
    sink_close,
    sink_last_error,
    sink_forked,
};
