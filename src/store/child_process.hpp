#pragma once
// What every child process that reads for its parent does: it dies quietly, and not for ever.
#include <sys/resource.h>
#include <sys/types.h>

#include <string>

namespace numdiff::store {

// In a child: crashes end it without a core, and what a library says about them is not for the user.
void settle_child(bool keep_output) noexcept;
void set_limit(__rlimit_resource_t what, rlim_t most) noexcept;
// After that much more processor time the process ends with SIGPROF.
void allow_processor_time(time_t seconds) noexcept;

// The status of waitpid; throws store::error for `path` when the child was lost.
int wait_for_child(pid_t child, const std::string& path);

// What is said of a file whose child ended with that status.
std::string end_of_child(int status);

}  // namespace numdiff::store
