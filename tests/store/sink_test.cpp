#include "numdiff/detail/sink.h"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "messages.hpp"
#include "store/load.hpp"

using namespace numdiff;
using namespace numdiff::testing;
using detail::field;
using detail::message_kind;

namespace {

const struct numdiff_sink_v1& functions() {
  static void* object = ::dlopen(NUMDIFF_TEST_SINK, RTLD_NOW | RTLD_LOCAL);
  REQUIRE_MESSAGE(object != nullptr, ::dlerror());
  static const auto* table = static_cast<const struct numdiff_sink_v1*>(::dlsym(object, "numdiff_sink_v1"));
  REQUIRE(table != nullptr);
  return *table;
}

numdiff_sink_open_v1 request(const std::string& path, const std::string& index, std::int32_t world,
                             std::int32_t rank) {
  return {sizeof(numdiff_sink_open_v1), path.c_str(), "run-7", world, rank, 0, 0, index.c_str()};
}

bytes capture(std::uint64_t id, const std::vector<float>& values) {
  detail::capture_row row{};
  row.seq = id;
  row.count = static_cast<std::int64_t>(values.size());
  row.dtype = static_cast<std::uint16_t>(dtype::f32);
  row.digest0 = id;
  detail::shape_row shape{};
  shape.rank = 1;
  shape.extent[0] = row.count;
  shape.stride[0] = 1;
  return message(message_kind::capture, id, row)
      .text(field::name, "x")
      .row(field::shape, shape)
      .field(field::values, raw(values))
      .done();
}

void write_one(const std::string& path, const std::string& index, std::int32_t world, std::int32_t rank) {
  char reason[256] = "";
  const auto o = request(path, index, world, rank);
  void* sink = functions().open(&o, reason, sizeof(reason));
  REQUIRE_MESSAGE(sink != nullptr, reason);
  const bytes m = capture(1, {1, 2, 3});
  CHECK(functions().write(sink, m.data(), m.size()) == 0);
  CHECK(functions().commit(sink, 1) == 0);
  CHECK(std::string(functions().last_error(sink)).empty());
  CHECK(functions().close(sink, 1) == 0);
}

// Status of a child that runs f and leaves with what f returns.
template <class F>
int in_child(F&& f) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(f());
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("the object shows one symbol and writes a run with its views") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  write_one(path, path, 1, 0);
  const model::run run = store::load_run(path);
  CHECK(run.run_id == "run-7");
  CHECK(run.ranks.at(0).closed);
  CHECK(run.ranks[0].captures.size() == 1);
  CHECK(std::filesystem::exists(dir / "run_a.views.h5"));
}

TEST_CASE("several ranks have an index, whoever comes first") {
  const scratch dir;
  const std::string index = dir / "run_b.h5";
  for (const int first : {1, 0}) {
    for (const int rank : {first, 1 - first})
      write_one(dir / ("run_b.rank0000" + std::to_string(rank) + ".h5"), index, 2, rank);
    const model::run run = store::load_run(index);
    CHECK(run.run_id == "run-7");
    CHECK(run.world_size == 2);
    REQUIRE(run.ranks.size() == 2);
    CHECK(run.ranks[1].rank == 1);
    CHECK(run.missing.empty());
    CHECK(run.warnings.empty());
  }
  std::filesystem::remove(dir / "run_b.rank00001.h5");
  const model::run run = store::load_run(index);
  CHECK(run.missing == std::vector<std::int32_t>{1});
  REQUIRE(run.warnings.size() == 1);
  CHECK(run.warnings[0].find("run_b.rank00001.h5") != std::string::npos);
  CHECK(store::load_run(dir / "run_b.rank00000.h5").warnings.size() == 1);
}

TEST_CASE("an unwritable path is a reason, not an end") {
  char reason[256] = "";
  const std::string path = "/nowhere/at/all/run.h5";
  const auto o = request(path, path, 1, 0);
  CHECK(functions().open(&o, reason, sizeof(reason)) == nullptr);
  CHECK(std::string(reason).find("/nowhere/at/all/run.h5") != std::string::npos);
}

TEST_CASE("a full disk fails the sink and leaves what was committed") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const int status = in_child([&] {
    std::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1 << 20, 1 << 20};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto o = request(path, path, 1, 0);
    char reason[256];
    void* sink = functions().open(&o, reason, sizeof(reason));
    if (sink == nullptr) return 1;
    const bytes small = capture(1, {1, 2, 3});
    if (functions().write(sink, small.data(), small.size()) != 0) return 2;
    if (functions().commit(sink, 1) != 0) return 3;
    bool failed = false;
    for (std::uint64_t id = 2; id < 12; ++id) {
      const bytes large = capture(id, std::vector<float>(100'000, static_cast<float>(id)));
      failed = failed || functions().write(sink, large.data(), large.size()) != 0 ||
               functions().commit(sink, id) != 0;
    }
    if (!failed) return 4;
    if (std::string(functions().last_error(sink)).empty()) return 5;
    if (functions().close(sink, 1) == 0) return 6;
    std::exit(0);
  });
  CHECK(status == 0);
  const model::run run = store::load_run(path);
  CHECK(run.ranks.at(0).captures.size() >= 1);
  CHECK_FALSE(run.ranks[0].closed);
}

TEST_CASE("a forked child that exits leaves the file alone") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const auto o = request(path, path, 1, 0);
  char reason[256];
  void* sink = functions().open(&o, reason, sizeof(reason));
  REQUIRE(sink != nullptr);
  for (std::uint64_t id = 1; id <= 500; ++id) {
    const bytes m = capture(id, {static_cast<float>(id)});
    CHECK(functions().write(sink, m.data(), m.size()) == 0);
  }
  CHECK(in_child([&] {
          functions().forked(sink);
          std::exit(0);
          return 0;
        }) == 0);
  CHECK(functions().commit(sink, 500) == 0);
  CHECK(functions().close(sink, 1) == 0);
  CHECK(store::load_run(path).ranks.at(0).captures.size() == 500);
}

TEST_CASE("a name that is no file of numdiff stays as it is") {
  const scratch dir;
  const auto refusal = [&](const std::string& path, std::int32_t world) {
    char reason[256] = "";
    const std::string file = world > 1 ? path + ".rank00000" : path;
    const auto o = request(file, path, world, 0);
    void* sink = functions().open(&o, reason, sizeof(reason));
    if (sink != nullptr) functions().close(sink, 1);
    return std::string(reason);
  };
  std::ofstream(dir / "weights.bin") << "somebody's";
  std::ofstream(dir / "target.h5") << "";
  ::symlink("target.h5", (dir / "link.h5").c_str());
  ::mkfifo((dir / "pipe.h5").c_str(), 0600);
  ::mkdir((dir / "folder.h5").c_str(), 0700);
  for (const std::int32_t world : {1, 2}) {
    CHECK(refusal(dir / "weights.bin", world).find("not a file of numdiff") != std::string::npos);
    for (const char* name : {"link.h5", "pipe.h5", "folder.h5"})
      CHECK_MESSAGE(refusal(dir / name, world).find("not a plain file") != std::string::npos, name);
  }
  std::string content;
  std::ifstream(dir / "weights.bin") >> content;
  CHECK(content == "somebody's");
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(dir / "")))
    CHECK_MESSAGE(entry.path().extension() != ".old", entry.path().string());
  // An empty file is what mktemp leaves.
  CHECK(refusal(dir / "target.h5", 1).empty());
}

TEST_CASE("programs that are started hold no run file open, and what is printed does not reach it") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  const auto o = request(path, path, 1, 0);
  CHECK(in_child([&] {
          ::close(STDIN_FILENO);
          ::close(STDOUT_FILENO);
          char reason[256] = "";
          void* sink = functions().open(&o, reason, sizeof(reason));
          if (sink == nullptr) return 1;
          if (::write(STDOUT_FILENO, "printed", 7) != -1) return 2;
          int found = 0;
          for (int file = 0; file < 64; ++file) {
            std::error_code none;
            const auto name = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(file), none);
            if (name.string().rfind(path, 0) != 0) continue;
            ++found;
            if ((::fcntl(file, F_GETFD) & FD_CLOEXEC) == 0) return 3;
          }
          if (found != 1) return 4;
          return functions().close(sink, 1) == 0 ? 0 : 5;
        }) == 0);
  CHECK(store::load_run(path).ranks.at(0).closed);
}

TEST_CASE("a file that cannot be begun leaves nothing behind and says what the system said") {
  const scratch dir;
  const std::string path = dir / "run_a.h5";
  CHECK(in_child([&] {
          ::signal(SIGXFSZ, SIG_IGN);
          const rlimit nothing{0, 0};
          ::setrlimit(RLIMIT_FSIZE, &nothing);
          char reason[256] = "";
          const auto o = request(path, path, 1, 0);
          if (functions().open(&o, reason, sizeof(reason)) != nullptr) return 1;
          return std::string(reason) == path + ": cannot create (File too large)" ? 0 : 2;
        }) == 0);
  CHECK(std::filesystem::is_empty(std::filesystem::path(dir / "")));
}
