// After fork() the child's session is off for good, and the parent's file is whole however the child ends.
#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "capture/promises/workload.hpp"
#include "capture/support/recording.hpp"

using test::recording;

namespace {

// The child's answer is its exit status.
int status_of_child(recording& r, bool by_exit) {
  const pid_t child = fork();
  if (child == 0) {
    workload::run(100);
    r.session().flush();
    int wrong = 0;
    wrong |= numdiff::recording() ? 1 : 0;
    wrong |= r.session().active() ? 2 : 0;
    wrong |= std::strstr(numdiff::session::last_error(), "fork") == nullptr ? 4 : 0;
    numdiff::session_options o;
    o.file = r.file().c_str();
    const numdiff::session again(o);
    wrong |= again.active() ? 8 : 0;
    r.session().close();
    if (by_exit) exit(wrong);
    _exit(wrong);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

TEST_CASE("children end by exit and by _exit") {
  recording r(numdiff::level::tensors);
  workload::run(100);
  for (int i = 0; i < 4; ++i) {
    CHECK(status_of_child(r, true) == 0);
    workload::run(100);
    CHECK(status_of_child(r, false) == 0);
  }
  CHECK(r.session().active());
  const auto all = r.finish();
  CHECK(test::captures(all).size() == 5 * 9);
  CHECK_FALSE(std::filesystem::exists(r.tail()));
}

TEST_CASE("a fork inside an op and a scope leaves both to the parent") {
  recording r;
  {
    using namespace numdiff::dtypes_short;
    const float x[2] = {1, 2};
    NUMDIFF_SCOPE("outer");
    NUMDIFF_OP(op, "y", copy, numdiff::dtypes(f32, f32, f32));
    const pid_t child = fork();
    if (child == 0) {
      NUMDIFF_INPUT(op, "x", numdiff::view(x, {2}));
      exit(0);
    }
    waitpid(child, nullptr, 0);
    NUMDIFF_OUTPUT(op, "y", numdiff::view(x, {2}));
  }
  const auto all = r.finish();
  CHECK(test::captures(all).size() == 1);
  CHECK(test::ops(all).size() == 1);
}
