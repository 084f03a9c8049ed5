#pragma once
// Walks one run in execution order and judges op by op.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analysis/check.hpp"
#include "analysis/judged_run.hpp"
#include "analysis/losses.hpp"
#include "analysis/next_capture.hpp"

namespace numdiff::analysis {

class checker {
 public:
  checker(const model::run& run, const options& how);
  checkup run();

 private:
  using counter_key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t, std::int32_t, numdiff::phase,
                                 std::uint32_t, std::uint32_t>;

  void judge(const logical_op& op, std::uint64_t order);
  // True when it is a fault that no rule named.
  bool note_origin(const logical_capture& c, const evidence& e, const reads_health& reads,
                   std::uint64_t order);
  void count(const logical_capture& c, const evidence& e, bool faulty, const local_result& local,
             std::uint64_t order);
  void note_worst(const logical_capture& c, const evidence& e, bool faulty);
  // A counter that does not grow from one call of its op to the next (check_counters.cpp).
  std::optional<invariant> stuck(const logical_op& op, const logical_capture& c);
  void note_scale(const logical_capture& c, const evidence& e);
  void summarise();

  options how_;
  symbols names_;
  judged_run run_;
  checkup result_;
  std::map<counter_key, std::pair<std::int64_t, double>> counters_;  // step and value, by place
  std::map<std::string, std::uint64_t> undecided_because_;
  capture_wishes wishes_;
};

}  // namespace numdiff::analysis
