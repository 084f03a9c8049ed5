// A program that is killed: every capture whose probe returned is in the run file or in the tail.
#include <sys/wait.h>
#include <unistd.h>

#include <doctest/doctest.h>

#include <csignal>
#include <map>
#include <set>

#include "capture/support/recording.hpp"

using namespace numdiff::dtypes_short;
using numdiff::detail::capture_row;

namespace {

// Records forever and tells through the pipe after each probe that returned.
[[noreturn]] void program(const std::string& file, int pipe) {
  setenv("NUMDIFF_SINK", NUMDIFF_TEST_SINK_PATH, 1);
  numdiff::session_options o;
  o.file = file.c_str();
  o.level = numdiff::level::tensors;
  o.wait_ms = 10000;
  o.queue_bytes = 256 << 10;
  numdiff::session s(o);
  std::vector<float> x(100);
  for (std::uint32_t i = 0;; ++i) {
    x[0] = static_cast<float>(i);
    NUMDIFF_OP(op, "y", copy, numdiff::dtypes(f32, f32, f32));
    NUMDIFF_INPUT(op, "x", numdiff::view(x.data(), {100}));
    if (write(pipe, &i, sizeof i) != sizeof i) _exit(1);
  }
}

std::set<float> first_values(const std::vector<test::message>& all) {
  std::set<float> out;
  for (const auto& m : test::captures(all)) {
    float first = -1;
    std::memcpy(&first, m.fields.at(numdiff::detail::field::values).data(), sizeof first);
    out.insert(first);
  }
  return out;
}

}  // namespace

TEST_CASE("what a probe has returned from survives SIGKILL") {
  for (int round = 0; round < 12; ++round) {
    const test::temporary_directory directory;
    const std::string file = directory.file("run.messages");
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    REQUIRE(child >= 0);
    if (child == 0) {
      close(ends[0]);
      program(file, ends[1]);
    }
    close(ends[1]);
    // The moment varies with the number of captures that are awaited.
    std::uint32_t told = 0, number = 0;
    for (int i = 0; i < 1 + round * 150; ++i) {
      if (read(ends[0], &number, sizeof number) != sizeof number) break;
      told = number + 1;
    }
    kill(child, SIGKILL);
    while (read(ends[0], &number, sizeof number) == sizeof number) told = number + 1;
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    REQUIRE(WIFSIGNALED(status));

    auto all = test::read_messages(file);
    const auto tail = test::read_tail(file + ".tail");
    all.insert(all.end(), tail.begin(), tail.end());
    const auto found = first_values(all);
    CHECK(told > 0);
    std::uint32_t missing = 0;
    for (std::uint32_t i = 0; i < told; ++i) missing += found.count(static_cast<float>(i)) == 0 ? 1U : 0U;
    CHECK(missing == 0);
  }
}
