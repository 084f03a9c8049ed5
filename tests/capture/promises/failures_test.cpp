// Disks that are slow, full or not there: the program goes on, in bounded memory, and is told why.
#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <fstream>

#include "capture/promises/workload.hpp"
#include "capture/support/recording.hpp"

using numdiff::level;
using numdiff::detail::drop_row;
using numdiff::detail::message_kind;
using test::environment_variable;
using test::recording;

namespace {

std::size_t resident_bytes() {
  std::size_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
}

double seconds_of(const std::function<void()>& f) {
  const auto begin = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

}  // namespace

TEST_CASE("a slow sink stalls nothing, and what is dropped is counted in the file") {
  const environment_variable slow("NUMDIFF_TEST_SINK", "slow:50");
  recording r(level::tensors);
  workload::run(10000);
  const std::size_t before = resident_bytes();
  // 60 x 3 steps x 2 tensors of 40 kB against a queue of 1 MB and a sink that sleeps.
  const double seconds = seconds_of([] {
    for (int i = 0; i < 60; ++i) workload::run(10000);
  });
  CHECK(seconds < 60);
  CHECK(resident_bytes() < before + (std::size_t{32} << 20U));
  const auto s = r.session().statistics();
  CHECK(s.active == 1);
  CHECK(s.dropped_values > 0);
  const auto all = r.finish();
  drop_row sum{};
  for (const auto& m : test::of_kind(all, message_kind::drop)) {
    const auto row = m.as<drop_row>();
    sum.values += row.values;
    sum.captures += row.captures;
    sum.ops += row.ops;
    sum.events += row.events;
    sum.sketches += row.sketches;
  }
  const auto end = numdiff::session::statistics();
  CHECK(end.dropped_values == sum.values);
  CHECK(end.dropped_captures == sum.captures);
  CHECK(end.dropped_ops == sum.ops);
  CHECK(end.dropped_events == sum.events);
  CHECK(end.dropped_sketches == sum.sketches);
  // Every probe is accounted for.
  CHECK(end.captures + end.dropped_captures == 61 * 9);
  CHECK(test::captures(all).size() == end.captures);
  CHECK(test::ops(all).size() == end.ops);
}

TEST_CASE("with wait_ms nothing is dropped by a sink that keeps up in the end") {
  const environment_variable slow("NUMDIFF_TEST_SINK", "slow:1");
  recording r(level::tensors, [](numdiff::session_options& o) { o.wait_ms = 30000; });
  for (int i = 0; i < 20; ++i) workload::run(10000);
  const auto s = r.session().statistics();
  CHECK((s.dropped_values == 0 && s.dropped_captures == 0 && s.captures == 20 * 9));
}

TEST_CASE("values larger than the queue are dropped, their statistics kept") {
  recording r(level::tensors);
  workload::run(1 << 18);
  const auto s = r.session().statistics();
  CHECK((s.dropped_values == 6 && s.dropped_captures == 0 && s.captures == 9));
  const auto captures = test::captures(r.finish());
  CHECK(captures.at(0).as<numdiff::detail::capture_row>().dropped == numdiff::dropped_values);
  CHECK(captures.at(0).has(numdiff::detail::field::sketch));
}

TEST_CASE("the budget is a bound") {
  recording r(level::tensors, [](numdiff::session_options& o) { o.budget = 200000; });
  for (int i = 0; i < 20; ++i) workload::run(10000);
  CHECK(r.session().statistics().bytes <= 200000);
  CHECK(r.session().statistics().dropped_values > 0);
  std::uint64_t told = 0;
  for (const auto& m : test::of_kind(r.finish(), message_kind::drop)) told += m.as<drop_row>().values;
  CHECK(told == numdiff::session::statistics().dropped_values);
}

TEST_CASE("a sink that fails turns capture off and keeps the tail") {
  const environment_variable failing("NUMDIFF_TEST_SINK", "fail:2");
  recording r(level::tensors);
  workload::run(100);
  for (int i = 0; i < 100 && r.session().active(); ++i) {
    workload::run(100);
    usleep(20000);
  }
  CHECK_FALSE(r.session().active());
  CHECK(std::strcmp(numdiff::session::last_error(), "the disk is full") == 0);
  CHECK_FALSE(numdiff::recording());
  workload::run(100);
  r.session().close();
  CHECK(std::filesystem::exists(r.tail()));
  CHECK(std::strcmp(numdiff::session::last_error(), "the disk is full") == 0);
}

TEST_CASE("paths that cannot be written and sinks that cannot be loaded") {
  const auto refused = [](const char* file, const char* text) {
    recording r(level::sketch, [&](numdiff::session_options& o) { o.file = file; });
    workload::run(10);
    return !r.session().active() && std::strstr(numdiff::session::last_error(), text) != nullptr;
  };
  CHECK(refused("/nowhere/at/all.h5", "cannot write"));
  CHECK(refused("", "no file"));
  {
    const environment_variable refusing("NUMDIFF_TEST_SINK", "refuse");
    recording r;
    CHECK_FALSE(r.session().active());
    CHECK_FALSE(std::filesystem::exists(r.tail()));
  }
  numdiff::session_options o;
  o.file = "x.h5";
  setenv("NUMDIFF_SINK", "/nowhere/sink.so", 1);
  numdiff::session s(o);
  CHECK_FALSE(s.active());
  CHECK(std::strstr(numdiff::session::last_error(), "cannot be loaded") != nullptr);
  CHECK_FALSE(numdiff::recording());
}
