#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "../messages.hpp"
#include "read_all.hpp"
#include "store/error.hpp"
#include "store/isolate.hpp"

using namespace numdiff;
using namespace numdiff::testing;

namespace {

using content = std::vector<std::uint8_t>;

content read(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

content mutated(content file, std::mt19937_64& random) {
  const auto below = [&](std::size_t n) { return static_cast<std::size_t>(random() % n); };
  if (below(8) == 0) file.resize(below(file.size()) + 1);
  for (std::size_t flips = 1 + below(6); flips > 0; --flips) {
    std::uint8_t& byte = file[below(file.size())];
    byte = below(2) == 0 ? static_cast<std::uint8_t>(random())
                         : static_cast<std::uint8_t>(byte ^ (1U << below(8)));
  }
  return file;
}

// 0: read or refused; the signal, or 1 for another exception, otherwise.
int in_child(const content& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(60);
    static_cast<void>(std::freopen("/dev/null", "w", stderr));
    try {
      LLVMFuzzerTestOneInput(file.data(), file.size());
      ::_exit(0);
    } catch (...) {
      ::_exit(1);
    }
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

}  // namespace

TEST_CASE("a flipped or cut file of arrays is read or refused") {
  const scratch dir;
  REQUIRE(std::system(("/usr/bin/python3 " NUMDIFF_TEST_CORPUS " " + (dir / "")).c_str()) == 0);
  std::vector<std::pair<std::string, content>> corpus;
  for (const auto& entry : std::filesystem::directory_iterator(dir / ""))
    corpus.emplace_back(entry.path().extension(), read(entry.path()));
  std::sort(corpus.begin(), corpus.end());
  REQUIRE(corpus.size() == 7);
  for (const auto& [kind, file] : corpus) CHECK(in_child(file) == 0);
  std::mt19937_64 random(20240602);
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(3);
  std::uint64_t tried = 0, crashed = 0;
  while (tried < 70 || std::chrono::steady_clock::now() < end) {
    const std::string& kind = corpus[tried % corpus.size()].first;
    const content file = mutated(corpus[tried % corpus.size()].second, random);
    ++tried;
    const int status = in_child(file);
    INFO(kind << " " << status);
    if (status == 0) continue;
    CHECK(status != 1);
    CHECK(kind == ".h5");  // HDF5 itself gave up: the program runs it in a child for that
    ++crashed;
    CHECK_THROWS_AS(store::run_in_child([&] { return LLVMFuzzerTestOneInput(file.data(), file.size()); }),
                    store::error);
  }
  MESSAGE(tried << " files, " << crashed << " crashed HDF5 in the child");
}

TEST_CASE("what a child says reaches its parent") {
  CHECK(store::run_in_child([] { return 7; }) == 7);
  CHECK_THROWS_WITH_AS(
      store::run_in_child([]() -> int { throw store::error("x.h5", "/y", "read", "is bad"); }),
      "x.h5: /y: is bad", std::runtime_error);
  CHECK_THROWS_AS(store::run_in_child([]() -> int { throw std::bad_alloc(); }), std::bad_alloc);
  CHECK_THROWS_WITH_AS(store::run_in_child([]() -> int {
                         store::now_reading("x.h5");
                         ::raise(SIGSEGV);
                         return 0;
                       }),
                       "x.h5: is damaged: reading it crashes the HDF5 library", store::error);
}
