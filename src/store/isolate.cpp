#include "store/isolate.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <exception>

#include "store/error.hpp"

namespace numdiff::store {

namespace {

constexpr rlim_t cpu_seconds = 300;  // a run of 100 GB of records is read in less

[[noreturn]] void run_child(const std::function<void()>& work) noexcept {
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL}) ::signal(s, SIG_DFL);
  rlimit limit{};
  ::getrlimit(RLIMIT_CPU, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, cpu_seconds);
  ::setrlimit(RLIMIT_CPU, &limit);
  const rlimit no_core{0, 0};
  ::setrlimit(RLIMIT_CORE, &no_core);
  // What glibc or a sanitizer says about the crash is not for the user.
  const int nothing = ::open("/dev/null", O_WRONLY);
  ::dup2(nothing, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
  int status = 0;
  try {
    work();
  } catch (const error&) {
  } catch (const std::exception&) {
    status = 1;
  }
  ::_exit(status);
}

}  // namespace

void try_in_child(const std::string& path, const std::function<void()>& work) {
  const pid_t child = ::fork();
  if (child < 0) throw error(path, "", "read", "cannot be read: no process could be started");
  if (child == 0) run_child(work);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw error(path, "", "read", "cannot be read: its child process was lost");
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw error(path, "", "read",
              WIFSIGNALED(status) && WTERMSIG(status) == SIGXCPU
                  ? "is damaged: reading it does not end"
                  : "is damaged: reading it crashes the HDF5 library");
}

}  // namespace numdiff::store
