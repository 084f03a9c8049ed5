#pragma once
// How the distance of two runs of the same steps grows, layer by layer: where and when it began, and by which
// law.
#include <cstdint>
#include <string>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/growth.hpp"

namespace numdiff::analysis {

struct layer_drift {
  std::string scope;
  std::string worst;                 // "op : tensor" with the largest error at the last step
  std::vector<growth_point> points;  // relative error by step: rms over weights and what forward ops wrote
  double floor = 0;                  // one rounding of its coarsest format
  analysis::growth growth;

  [[nodiscard]] bool drifts() const noexcept {
    return growth.changes || (growth.law != growth_law::none && growth.law != growth_law::unknown);
  }
  // The first step at which the error is more than it was, -1 when nothing grows.
  [[nodiscard]] std::int64_t from_step() const;
  // What the error may be at a step when each step adds one rounding like those before the change.
  [[nodiscard]] double expected(std::int64_t step) const;
};

struct drift_report {
  outcome verdict = outcome::incomplete;  // agree: no layer grows or changes beyond expectation
  run_summary reference, test;
  std::vector<layer_drift> layers;  // in execution order
  int first = -1;                   // index into layers: where it began, -1 nowhere
  std::uint64_t steps = 0;          // that both runs have
  std::uint64_t compared = 0;       // captures with a distance
  std::uint64_t not_measured = 0;   // matched captures without one
  std::vector<std::string> incomplete_because, warnings;
};

// Compares what ops of the forward pass wrote and what weights they read, at every step that both runs
// recorded. `select` limits steps, scopes, ops and ranks. Storage errors pass through.
drift_report measure_drift(const model::run& reference, const model::run& test,
                           const model::selection& select);

const char* name_of(growth_law law) noexcept;

}  // namespace numdiff::analysis
