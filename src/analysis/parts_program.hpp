#pragma once
// The parts of a region as a program that runs on what the other run's fused ops read.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "analysis/arrange.hpp"
#include "analysis/bridge.hpp"
#include "analysis/expect/expectation.hpp"
#include "analysis/expect/grid.hpp"
#include "analysis/half.hpp"

namespace numdiff::analysis {

inline constexpr int noisy_runs = 6;
inline constexpr std::size_t most_ops = 64;  // of one run in a region

// What one capture of the parts holds when they run on the inputs of the fused ops.
struct composed {
  std::vector<double> values;           // exact
  std::vector<double> squares;          // of the changes that noise in intermediate results made, summed
  std::vector<double> variance, bound;  // of the errors inside the op that wrote it
  std::vector<expect::defect> defects;
  std::vector<std::int64_t> shape;
};

// The parts of one rank as a program from the inputs of the fused ops.
class parts_program {
 public:
  parts_program(const half& parts, const half& fused, std::int32_t world_rank);
  // Exact, from the outer reads alone: what the fused ops' results are looked for in.
  void rehearse() { static_cast<void>(once(0)); }
  // The fused ops wrote this capture too, as `write` of the op `fused`: what reads it begins there, so that
  // each is judged by its own reads.
  void begin_at(std::int32_t capture, std::size_t fused, std::size_t write);
  void run();
  // By capture; below -1 what no part wrote, the logs of a softmax's sums.
  [[nodiscard]] const std::map<std::int32_t, composed>& results() const { return results_; }
  [[nodiscard]] bool read_inside(std::int32_t capture) const { return read_inside_.contains(capture); }
  [[nodiscard]] std::vector<stored_op>& fused_ops() { return fused_ops_; }
  [[nodiscard]] const std::vector<bridge::shared_read>& shared() const { return shared_; }
  [[nodiscard]] expect::grid coarse() const { return coarse_; }
  // What the parts multiply by, as they tell it, named by its op; by the writer of `capture` where it does.
  [[nodiscard]] std::map<double, std::string> factors(std::int32_t capture) const;

 private:
  struct source {
    std::int32_t from = -1;  // written by the program; -1: values stay as prepared
    arrangement how;
  };
  struct part {
    stored_op stored;
    detail::op_row row;
    std::vector<source> sources;  // by read
    op_instance log_sums;         // of a softmax: what fused kernels keep of each row; no writes: none
  };

  // Values that the fused ops wrote; `deviation` of what an op that goes on with its own result has not
  // rounded yet, by element, empty: reads it again.
  struct start {
    std::vector<double> values, deviation;
  };

  void choose_ops();
  void load(std::int32_t world_rank);
  bool inside(std::int32_t capture, int hops = 8);
  // Returns the ops that wrote what the fused ops do not read.
  std::set<std::int32_t> connect();
  bool from_fused(part& p, std::size_t read);
  void note_formats();
  std::map<std::int32_t, std::vector<double>> once(std::uint64_t seed);
  void note(std::int32_t capture, const expect::expectation& e, const std::vector<std::int64_t>& shape,
            bool exact);

  const half& parts_;
  const half& fused_;
  std::set<std::int32_t> ops_;
  std::vector<part> program_;
  std::vector<stored_op> fused_ops_;
  std::vector<std::pair<std::size_t, std::size_t>> outer_;  // reads of fused ops from outside: op, read
  std::set<std::int32_t> read_inside_;
  std::string missing_;  // what the parts read first and the fused ops do not
  std::vector<bridge::shared_read> shared_;
  std::map<std::int32_t, start> known_;
  std::map<std::int32_t, composed> results_;
  expect::grid coarse_;
};

}  // namespace numdiff::analysis
