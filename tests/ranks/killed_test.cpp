// Ranks that die in mid-run: what is there is compared, what is missing is named.
#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <stdexcept>

#include "ranks/mlp.hpp"
#include "ranks/recorded_run.hpp"
#include "store/load.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using analysis::compare;
using analysis::outcome;

namespace {

// Four ranks at the same time; `silent` ones never open a session, and `killed` dies by SIGKILL while it
// writes the output of fc1 in layer 1, or behind its last op.
class killed_run {
 public:
  killed_run(std::int32_t killed, const std::vector<std::int32_t>& silent, bool at_the_end = false) {
    std::string name = (std::filesystem::temp_directory_path() / "numdiff_killed_XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    const std::string file = (folder_ / "run.h5").string();
    std::vector<pid_t> children;
    for (std::int32_t rank = 0; rank < 4; ++rank) {
      if (std::ranges::find(silent, rank) != silent.end()) continue;
      const pid_t child = fork();
      if (child == 0) _exit(write(file, rank, killed, at_the_end) ? 0 : 1);
      children.push_back(child);
    }
    for (const pid_t child : children) {
      int status = 0;
      waitpid(child, &status, 0);
      died_ += WIFSIGNALED(status) ? 1 : 0;
      failed_ = failed_ || (WIFEXITED(status) && WEXITSTATUS(status) != 0);
    }
    store::load_options own;
    own.isolate = false;
    run_ = store::load_run(file, own);
  }
  killed_run(const killed_run&) = delete;
  killed_run& operator=(const killed_run&) = delete;
  ~killed_run() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  [[nodiscard]] const model::run& run() const { return run_; }
  [[nodiscard]] int died() const { return died_; }
  [[nodiscard]] bool failed() const { return failed_; }

 private:
  static bool write(const std::string& file, std::int32_t rank, std::int32_t killed, bool at_the_end) {
    mlp m;
    m.ranks = 4;
    m.spoil = [=](const written& w) {
      if (!at_the_end && w.rank == killed && rank == killed && w.layer == 1 && w.op == "fc1") raise(SIGKILL);
    };
    session_options o;
    o.file = file.c_str();
    o.run_id = "killed";
    o.world_size = 4;
    o.rank = rank;
    o.level = level::tensors;
    o.wait_ms = 10000;
    o.queue_bytes = 1 << 20;
    session s(o);
    if (s.active()) m.program()(s, rank);
    if (rank == killed) raise(SIGKILL);
    return s.active();
  }

  std::filesystem::path folder_;
  model::run run_;
  int died_ = 0;
  bool failed_ = false;
};

bool says(const analysis::comparison& c, const std::string& text) {
  return std::ranges::any_of(c.incomplete_because,
                             [&](const std::string& b) { return b.find(text) != std::string::npos; });
}

}  // namespace

TEST_CASE("a rank that is killed and one that never began are named; layer 0 is compared") {
  const killed_run many(2, {});
  CHECK(many.died() == 1);
  CHECK_FALSE(many.failed());
  for (const level l : {level::sketch, level::tensors}) {
    const recorded_run one(mlp{}.program(), 1, l);
    const auto c = compare(one.run(), many.run());
    INFO(told(c));
    CHECK(c.verdict == outcome::incomplete);
    CHECK(says(c, "rank 2 of the test ended early, in or after decoder.layer.0.mlp / residual of step 0"));
    CHECK(c.totals.beyond == 0);
    CHECK(c.totals.matched >= 10);
    // Nothing of layer 0 is missing.
    CHECK(c.totals.equal + c.totals.within >= 10);
  }
}

TEST_CASE("a rank that is killed behind its last op lacks nothing") {
  const killed_run many(2, {}, true);
  CHECK(many.died() == 1);
  const recorded_run one(mlp{}.program(), 1, level::tensors);
  const auto c = compare(one.run(), many.run());
  INFO(told(c));
  CHECK(c.verdict == outcome::agree);
  CHECK_FALSE(c.test.closed);
}

TEST_CASE("the index is there although rank 0 never began") {
  const killed_run many(2, {0, 3});
  CHECK(many.run().world_size == 4);
  CHECK(many.run().missing == std::vector<std::int32_t>{0, 3});
  const recorded_run one(mlp{}.program(), 1, level::tensors);
  const auto c = compare(one.run(), many.run());
  INFO(told(c));
  CHECK(c.verdict == outcome::incomplete);
  CHECK(says(c, "no file of rank 0, 3 of the test"));
  CHECK(says(c, "rank 2 of the test ended early"));
}

TEST_CASE("a difference outranks what is missing") {
  const killed_run many(2, {});
  mlp wrong;
  wrong.spoil = [](const written& w) {
    if (w.op == "act" && w.layer == 0)
      for (double& v : w.values) v *= 1.01;
  };
  const recorded_run one(wrong.program(), 1, level::tensors);
  const auto c = compare(one.run(), many.run());
  CHECK(c.verdict == outcome::differ);
  REQUIRE(c.first_divergence);
  CHECK(c.first_divergence->where.op == "act");
  CHECK(says(c, "rank 2 of the test ended early"));
}

TEST_CASE("two processes that nobody told their ranks do not share a file: the second says what is missing") {
  std::string folder = (std::filesystem::temp_directory_path() / "numdiff_shared_XXXXXX").string();
  REQUIRE(mkdtemp(folder.data()) != nullptr);
  const std::string file = folder + "/run.h5";
  int opened[2], done[2];
  REQUIRE((pipe(opened) == 0 && pipe(done) == 0));
  const auto child = [&](bool first) {
    const pid_t id = fork();
    if (id != 0) return id;
    char byte = 0;
    if (!first) (void)!read(opened[0], &byte, 1);
    session_options o;
    o.file = file.c_str();
    const session s(o);
    bool right = s.active();
    if (first) {
      (void)!write(opened[1], &byte, 1);
      (void)!read(done[0], &byte, 1);
    } else {
      const std::string error = session::last_error();
      right = !s.active() && error.find("NUMDIFF_RANK") != std::string::npos;
      (void)!write(done[1], &byte, 1);
    }
    _exit(right ? 0 : 1);
  };
  const pid_t first = child(true), second = child(false);
  for (const pid_t id : {first, second}) {
    int status = 0;
    waitpid(id, &status, 0);
    CHECK(status == 0);
  }
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
}
