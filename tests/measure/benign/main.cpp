// benign DIRECTORY SEED FIRST LAST [LEVEL]: records the pairs FIRST to LAST - 1 of a suite of honest runs as
// DIRECTORY/<number>.reference.h5 and .test.h5, and prints a line for each: number, format, what varies.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "measure/benign/program.hpp"
#include "numdiff/session.hpp"

using namespace benign;

namespace {

bool record_here(const setting& s, bool reference, const std::string& file, numdiff::level level,
                 std::int32_t rank) {
  numdiff::session_options options;
  options.file = file.c_str();
  options.level = level;
  options.run_id = "benign";
  options.world_size = s.ranks;
  options.rank = rank;
  options.wait_ms = 60000;
  numdiff::session session(options);
  if (session.active()) {
    program p(s, reference);
    const auto step = numdiff::scoped::step(0);
    if (s.ranks > 1) {
      session.mesh("dp", s.ranks, rank);
      collectives(p, rank);
    } else {
      elementwise(p);
      reductions(p);
      rows(p);
      products(p);
      attention(p);
      training(p);
      choices(p);
      if (level == numdiff::level::tensors) fused(p);  // a region is judged by its values
    }
  }
  const bool recorded = session.active() && numdiff::session::statistics().refused == 0;
  session.close();
  if (numdiff::session::last_error()[0] != '\0')
    std::fprintf(stderr, "benign: %s: %s\n", file.c_str(), numdiff::session::last_error());
  return recorded && numdiff::session::last_error()[0] == '\0';
}

bool record(const setting& s, bool reference, const std::string& file, numdiff::level level) {
  for (std::int32_t rank = 0; rank < s.ranks; ++rank) {
    std::fflush(nullptr);
    const pid_t child = fork();
    if (child == 0) _exit(record_here(s, reference, file, level, rank) ? 0 : 1);
    int status = 1;
    if (child < 0 || waitpid(child, &status, 0) != child || status != 0) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) {
    std::fprintf(stderr, "usage: benign DIRECTORY SEED FIRST LAST [sketch]\n");
    return 2;
  }
  const std::string directory = argv[1];
  const auto level =
      argc > 5 && std::strcmp(argv[5], "sketch") == 0 ? numdiff::level::sketch : numdiff::level::tensors;
  for (int number = std::atoi(argv[3]); number < std::atoi(argv[4]); ++number) {
    const setting s = setting_of(number, std::strtoull(argv[2], nullptr, 10));
    const std::string path = directory + "/" + std::to_string(number);
    if (!record(s, true, path + ".reference.h5", level) || !record(s, false, path + ".test.h5", level)) {
      std::fprintf(stderr, "benign: pair %d was not recorded\n", number);
      return 1;
    }
    std::printf("%d\t%s\t%s\n", number, name_of(s.format), text_of(s).c_str());
    std::fflush(stdout);
  }
  return 0;
}
