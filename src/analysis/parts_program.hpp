#pragma once
// The parts of a region as a program that runs on what the other run's fused ops read.
#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "analysis/arrange.hpp"
#include "analysis/bridge.hpp"
#include "analysis/expect/expectation.hpp"
#include "analysis/expect/grid.hpp"

namespace numdiff::analysis {

// Tensors nearer than this are one tensor in two roundings; unrelated ones are at 1 and more.
inline constexpr double same_tensor = 0.5;

inline constexpr int noisy_runs = 6;

// One run's ops of a region.
struct half {
  const run_index& run;
  const chain& flow;
  const std::vector<std::int32_t>& ops;

  [[nodiscard]] const logical_op& op(std::int32_t i) const { return run.ops()[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const logical_capture& capture(std::int32_t i) const {
    return run.captures()[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] bool replayable() const {
    return std::ranges::all_of(ops, [&](std::int32_t i) { return replays(run.kind_of(op(i))); });
  }
  // The capture that wrote what `c` reads, -1 none.
  [[nodiscard]] std::int32_t writer(std::int32_t c) const {
    for (int hops = 0; hops < 16; ++hops) {
      const link& from = flow.of(c).from;
      if (from.from < 0 || from.origin == origin::none) return -1;
      if (from.origin != origin::read) return from.from;
      c = from.from;
    }
    return -1;
  }
  // The capture that casts and copies made what `c` reads from, -1 none.
  [[nodiscard]] std::int32_t behind(std::int32_t c) const;
};

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
  [[nodiscard]] const std::map<std::int32_t, composed>& results() const { return results_; }
  [[nodiscard]] bool read_inside(std::int32_t capture) const { return read_inside_.contains(capture); }
  [[nodiscard]] std::vector<stored_op>& fused_ops() { return fused_ops_; }
  [[nodiscard]] const std::vector<bridge::shared_read>& shared() const { return shared_; }
  [[nodiscard]] expect::grid coarse() const { return coarse_; }

 private:
  struct source {
    std::int32_t from = -1;  // written by the program; -1: values stay as prepared
    arrangement how;
  };
  struct part {
    stored_op stored;
    detail::op_row row;
    std::vector<source> sources;  // by read
  };

  // Values that the fused ops wrote; `deviation` of what an op that goes on with its own result has not
  // rounded yet, by element, empty: reads it again.
  struct start {
    std::vector<double> values, deviation;
  };

  void choose_ops(std::int32_t world_rank);
  bool inside(std::int32_t capture, int hops = 8);
  void connect();
  void from_fused(part& p, std::size_t read);
  void note_formats();
  std::map<std::int32_t, std::vector<double>> once(std::uint64_t seed);

  const half& parts_;
  const half& fused_;
  std::set<std::int32_t> ops_;
  std::vector<part> program_;
  std::vector<stored_op> fused_ops_;
  std::vector<std::pair<std::size_t, std::size_t>> outer_;  // reads of fused ops from outside: op, read
  std::set<std::int32_t> read_inside_;
  std::vector<bridge::shared_read> shared_;
  std::map<std::int32_t, start> known_;
  std::map<std::int32_t, composed> results_;
  expect::grid coarse_;
};

}  // namespace numdiff::analysis
