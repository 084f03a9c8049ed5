#include "store/child_process.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "store/error.hpp"

namespace numdiff::store {

void set_limit(__rlimit_resource_t what, rlim_t most) noexcept {
  rlimit limit{};
  ::getrlimit(what, &limit);
  limit.rlim_cur = std::min<rlim_t>(limit.rlim_max, most);
  ::setrlimit(what, &limit);
}

void allow_processor_time(time_t seconds) noexcept {
  const itimerval later{{0, 0}, {seconds, 0}};
  ::setitimer(ITIMER_PROF, &later, nullptr);
}

void settle_child(bool keep_output) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  for (const int s : {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGPROF}) ::signal(s, SIG_DFL);
  set_limit(RLIMIT_CORE, 0);
  const int nothing = ::open("/dev/null", O_WRONLY);
  if (!keep_output) ::dup2(nothing, STDOUT_FILENO);
  ::dup2(nothing, STDERR_FILENO);
}

int wait_for_child(pid_t child, const std::string& path) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR) throw error(path, "", "read", "cannot be read: its child process was lost");
  return status;
}

std::string end_of_child(int status) {
  const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  return signal == SIGXCPU || signal == SIGPROF ? "is damaged: reading it does not end"
                                                : "is damaged: reading it crashes the HDF5 library";
}

}  // namespace numdiff::store
