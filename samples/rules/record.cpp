#include "record.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>

namespace reproduce {

namespace {

bool record_here(const program& what, const std::string& file, std::int32_t ranks, std::int32_t rank,
                 numdiff::level level) {
  numdiff::session_options options;
  options.file = file.c_str();
  options.level = level;
  options.run_id = "reproduction";
  options.world_size = ranks;
  options.rank = rank;
  options.wait_ms = 10000;
  options.queue_bytes = 1 << 20;
  numdiff::session s(options);
  if (s.active()) what(s, rank);
  const bool recorded = s.active() && numdiff::session::statistics().refused == 0;
  s.close();
  if (numdiff::session::last_error()[0] != '\0') std::fprintf(stderr, "%s\n", numdiff::session::last_error());
  return recorded && numdiff::session::last_error()[0] == '\0';
}

}  // namespace

void record(const program& what, const std::string& file, std::int32_t ranks, numdiff::level level) {
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no child process");
    if (child == 0) _exit(record_here(what, file, ranks, rank, level) ? 0 : 1);
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0)
      throw std::runtime_error(file + ": was not recorded");
  }
}

}  // namespace reproduce
