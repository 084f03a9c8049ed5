#pragma once
// The most specific rule that the captures of one op fire, and what it explains.
#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "analysis/judged_run.hpp"

namespace numdiff::analysis {

class best_rule {
 public:
  explicit best_rule(const judged_run& run) : run_(run) {}

  // Asks the rules about one capture: the one that fires, nullptr when none does. `passes_on`: what is wrong
  // here is the echo of an earlier op.
  const rule* offer(const logical_capture& c, const evidence& e, const local_judgement* local,
                    bool passes_on);

  // The finding of the op, nothing when no rule fired.
  [[nodiscard]] std::optional<finding> take(std::uint64_t order);

 private:
  void name_ranks(const logical_capture& c, const evidence& e, const local_judgement* local);

  const judged_run& run_;
  const rule* best_ = nullptr;
  finding found_;
  std::set<std::string> explained_;
};

}  // namespace numdiff::analysis
