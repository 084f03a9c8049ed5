// Writes a run of many ranks at level sketch without training it, and the same job on one rank:
//   many_ranks FILE [tp=T] [dp=D] [pp=P] [layers=L] [steps=S] [batch=B] [twice=STEP]
// FILE is the run's; each rank writes 12 captures a layer and step, less on one rank, which reduces nothing.
// `batch` counts tokens in replicas and must be the same in runs that are compared; D by default. From step
// `twice` on, the optimizer applies the gradient of the middle layer twice.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "measure/many_ranks/record.hpp"

namespace many_ranks {

job parse_job(int argc, char** argv) {
  job j;
  j.batch = 0;
  for (int i = 2; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t equals = word.find('=');
    const std::string key = word.substr(0, equals);
    const std::int64_t value = equals == std::string::npos ? 0 : std::stoll(word.substr(equals + 1));
    if (value < (key == "twice" ? 0 : 1) || value > 1000000)
      throw std::invalid_argument(word + ": not a number up to 1000000");
    if (key == "layers")
      j.layers = value;
    else if (key == "steps")
      j.steps = value;
    else if (key == "batch")
      j.batch = value;
    else if (key == "twice")
      j.twice = value;
    else if (key == "tp" || key == "dp" || key == "pp")
      (key == "tp" ? j.tp : key == "dp" ? j.dp : j.pp) = static_cast<std::int32_t>(value);
    else
      throw std::invalid_argument(word + ": no such setting");
  }
  if (j.batch == 0) j.batch = j.dp;
  if (j.batch % j.dp != 0 || j.layers % j.pp != 0 || inner % j.tp != 0)
    throw std::invalid_argument("dp must divide batch, pp layers, and tp 256");
  return j;
}

namespace {

// The ranks of the replicas first, first + stride, ...
void record_replicas(const std::string& file, const stack& of, std::int32_t first, std::int32_t stride) {
  const job& shape = of.shape();
  for (std::int32_t d = first; d < shape.dp; d += stride) {
    replica_steps values;
    for (std::int64_t step = 0; step < shape.steps; ++step) values.push_back(of.replica(step, d));
    for (std::int32_t stage = 0; stage < shape.pp; ++stage)
      for (std::int32_t t = 0; t < shape.tp; ++t) record_rank(file, file, of, stage, d, t, values);
  }
}

int record_all(const std::string& file, const stack& of) {
  const auto workers = static_cast<std::int32_t>(std::clamp(std::thread::hardware_concurrency(), 1U, 64U));
  std::vector<pid_t> children;
  for (std::int32_t w = 0; w < std::min(workers, of.shape().dp); ++w) {
    const pid_t child = ::fork();
    if (child < 0) throw std::runtime_error("no process could be started");
    if (child == 0) {
      try {
        record_replicas(file, of, w, workers);
        ::_exit(0);
      } catch (const std::exception& problem) {
        std::fprintf(stderr, "many_ranks: %s\n", problem.what());
      }
      ::_exit(1);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    if (::waitpid(child, &status, 0) < 0 || status != 0) failed = 1;
  }
  return failed;
}

}  // namespace

}  // namespace many_ranks

int main(int argc, char** argv) {
  try {
    if (argc < 2)
      throw std::invalid_argument(
          "usage: many_ranks FILE [tp=T] [dp=D] [pp=P] [layers=L] [steps=S] [batch=B] [twice=STEP]");
    const many_ranks::stack computed(many_ranks::parse_job(argc, argv));
    return many_ranks::record_all(argv[1], computed);
  } catch (const std::exception& problem) {
    std::fprintf(stderr, "many_ranks: %s\n", problem.what());
  }
  return 2;
}
