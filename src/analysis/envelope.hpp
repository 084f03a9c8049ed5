#pragma once
// Measures how far apart good runs are, and says how far another one may be.
#include <span>
#include <vector>

#include "analysis/comparison.hpp"
#include "analysis/index.hpp"
#include "model/envelope.hpp"

namespace numdiff::analysis {

model::capture_place key_of(const run_index& run, const logical_capture& capture);

struct measured_envelope {
  model::envelope envelope;
  // Ops that read the same and wrote other bits in two executions of the same program, the first of each
  // pair of runs.
  std::vector<finding> nondeterministic;
};

// The distances of all pairs of two or more runs.
measured_envelope measure_envelope(std::span<const model::run> runs);

// The distances of one low-precision run from its reference.
model::envelope measure_trusted(const model::run& reference, const model::run& trusted);

// The relative distance that a capture may have whose good runs have these: the largest of them, and by one
// over the root of their number more; half as much again when sketches estimate it. Of a trusted run twice
// its distance, and more by as much as `unit`, the coarser unit roundoff of the candidate, is coarser.
double allowed_distance(const model::envelope& good, const model::spread& known, double unit, bool estimated);

}  // namespace numdiff::analysis
