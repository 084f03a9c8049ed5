#pragma once
// The verdict on one run that needs no reference.
#include <cstdint>

#include "analysis/comparison.hpp"

namespace numdiff::analysis {

// `fault` outranks `incomplete`.
enum class condition { healthy, fault, incomplete };

// captures = in_order + faulty + undecided + given + dropped. Counts are of logical captures (one for all
// ranks). In order: what an op wrote is what its stored inputs make, or what it read is what an op wrote.
// Given: scalars, scales and reads that no captured op wrote; only their health can be checked.
struct check_totals {
  std::uint64_t captures = 0;
  std::uint64_t in_order = 0;
  std::uint64_t faulty = 0;
  std::uint64_t undecided = 0;
  std::uint64_t given = 0;
  std::uint64_t dropped = 0;
};

// How well scales use the range of their format: largest magnitude of a tensor over what its one scale
// reaches. Above 1 values are cut; far below 1 small ones vanish.
struct scale_use {
  std::uint64_t tensors = 0;       // quantised, of any granularity
  std::uint64_t measured = 0;      // with one scale for the tensor
  std::uint64_t uncalibrated = 0;  // of measured: the scale is exactly 1
  std::uint64_t cut = 0;           // tensors with values beyond the reach of their scale
  double most = 0, least = 0;      // of measured
  place most_at, least_at;
};

struct checkup : diagnosis {
  condition verdict = condition::incomplete;
  run_summary run;
  check_totals totals;
  scale_use scales;
};

// Replays every op from its own stored inputs, follows values from writer to reader, and checks what must
// hold in any precision. Storage errors pass through.
checkup check(const model::run& run, const options& how = {});

const char* name_of(condition c) noexcept;

}  // namespace numdiff::analysis
