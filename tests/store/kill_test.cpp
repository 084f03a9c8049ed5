#include <doctest/doctest.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <random>
#include <thread>

#include "messages.hpp"
#include "store/load.hpp"
#include "store/repair.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using clock_type = std::chrono::steady_clock;

namespace {

constexpr std::uint64_t captures = 800;

// Two numbers that survive the child: captures whose probe returned, and whether it closed.
class counters {
 public:
  explicit counters(const std::string& path) : path_(path) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT, 0600);
    REQUIRE(::ftruncate(file, 16) == 0);
    void* memory = ::mmap(nullptr, 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    REQUIRE(memory != MAP_FAILED);
    ::close(file);
    values_ = static_cast<std::atomic<std::uint64_t>*>(memory);
  }
  counters(const counters&) = delete;
  counters& operator=(const counters&) = delete;
  ~counters() { ::munmap(values_, 16); }
  void clear() { values_[0] = values_[1] = 0; }
  [[nodiscard]] std::uint64_t returned() const { return values_[0]; }
  [[nodiscard]] bool closed() const { return values_[1] != 0; }
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
  std::atomic<std::uint64_t>* values_;
};

pid_t start(const std::string& run, const counters& c, const std::string& run_id) {
  std::string program = NUMDIFF_TEST_CHILD, file = run, counter = c.path(), n = std::to_string(captures),
              id = run_id;
  char* arguments[] = {program.data(), file.data(), counter.data(), n.data(), id.data(), nullptr};
  pid_t child = -1;
  REQUIRE(::posix_spawn(&child, program.c_str(), nullptr, nullptr, arguments, environ) == 0);
  return child;
}

// Checks the file of a killed child against what its probes were told; how the child was caught.
enum class moment { unborn, open, closed };
moment check(const std::string& path, const counters& c, const std::string& run_id) {
  model::run run;
  try {
    run = store::load_run(path, {.isolate = false});
  } catch (const store::error&) {
    REQUIRE_FALSE(std::filesystem::exists(path));
  }
  if (run.run_id != run_id) {
    CHECK(c.returned() == 0);  // the session's constructor had not returned
    return moment::unborn;
  }
  REQUIRE(run.ranks.size() == 1);
  const model::rank_data& rank = run.ranks[0];
  CHECK(run.warnings.empty());
  CHECK(rank.captures.size() >= c.returned());
  CHECK(rank.drops.captures == 0);
  if (c.closed()) {
    CHECK(rank.closed);
    CHECK(rank.captures.size() == captures);
    CHECK_FALSE(std::filesystem::exists(path + ".tail"));
  }
  std::uint64_t wrong = 0;
  for (std::size_t i = 0; i < rank.captures.size(); ++i) {
    const model::capture_row& row = rank.captures[i];
    std::vector<float> values(static_cast<std::size_t>(row.count));
    if (row.payload != -1)
      rank.payload->read(dtype::f32, row.payload, std::as_writable_bytes(std::span(values)));
    const bool right = rank.strings[row.name] == "x" && row.count == (i % 7 == 0 ? 3000 : 5) &&
                       values.front() == static_cast<float>(i + 1) && values.back() == values.front() &&
                       row.sum == static_cast<double>(i + 1) * static_cast<double>(row.count);
    wrong += right ? 0 : 1;
  }
  CHECK(wrong == 0);
  return rank.closed ? moment::closed : moment::open;
}

// A random moment: near the birth, near the end, or between two captures.
void wait_for_moment(int k, double whole_ns, const counters& c, std::mt19937_64& random) {
  const auto pause = [&](double from, double to) {
    const double ns = std::uniform_real_distribution<double>(from, to)(random);
    std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<std::int64_t>(ns)));
  };
  if (k % 4 == 0) return pause(0, 0.2 * whole_ns);
  const std::uint64_t target = k % 4 == 1 ? captures - 1 : random() % captures;
  const auto limit = clock_type::now() + std::chrono::seconds(60);
  while (c.returned() < target && clock_type::now() < limit)
    std::this_thread::sleep_for(std::chrono::microseconds(20));
  CHECK(c.returned() >= target);
  pause(0, k % 4 == 1 ? 0.6 * whole_ns : 3e6);
}

std::chrono::nanoseconds one_run(const std::string& path, counters& c) {
  c.clear();
  const auto begin = clock_type::now();
  const pid_t child = start(path, c, "whole");
  int status = -1;
  ::waitpid(child, &status, 0);
  REQUIRE(WIFEXITED(status));
  REQUIRE(WEXITSTATUS(status) == 0);
  REQUIRE(c.closed());
  return clock_type::now() - begin;
}

}  // namespace

TEST_CASE("a program killed at any moment leaves every capture whose probe returned") {
  const char* asked = std::getenv("NUMDIFF_TEST_KILLS");
  const int kills = asked != nullptr ? std::atoi(asked) : 40;
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  counters c(dir / "counter");
  one_run(path, c);
  CHECK(check(path, c, "whole") == moment::closed);
  const double whole = static_cast<double>(one_run(path, c).count());

  std::mt19937_64 random(std::random_device{}());
  int unborn = 0, open = 0, closed = 0;
  std::uint64_t saved = 0;
  for (int k = 0; k < kills; ++k) {
    // Every other child finds no older file; the others find the one of the child before.
    if (k % 2 == 0)
      for (const char* suffix : {"", ".tail", ".old", ".old.tail"}) std::filesystem::remove(path + suffix);
    c.clear();
    const std::string run_id = "killed-" + std::to_string(k);
    const pid_t child = start(path, c, run_id);
    wait_for_moment(k, whole, c, random);
    ::kill(child, SIGKILL);
    int status = -1;
    ::waitpid(child, &status, 0);
    INFO("kill " << k);
    switch (check(path, c, run_id)) {
      case moment::unborn: ++unborn; break;
      case moment::open: ++open; break;
      case moment::closed: ++closed; break;
    }
    saved += c.returned();
    if (k % 8 == 5 && std::filesystem::exists(path)) {
      store::repair(path);
      if (c.returned() > 0) check(path, c, run_id);
    }
    for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(path).parent_path()))
      if (entry.path().string().find(".birth.") != std::string::npos) std::filesystem::remove(entry.path());
  }
  std::printf(
      "%d kills: %d before the file had its name, %d while open, %d after the close; %llu captures returned, "
      "all there\n",
      kills, unborn, open, closed, static_cast<unsigned long long>(saved));
  CHECK(open > 0);
}
