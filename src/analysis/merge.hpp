#pragma once
// What all ranks hold of one tensor, as one capture: shards and partial sums added, replicas checked.
#include <array>
#include <cstdint>
#include <vector>

#include "analysis/index.hpp"
#include "analysis/placement.hpp"

namespace numdiff::analysis {

struct merged_capture {
  dtype type = dtype::unknown;
  std::vector<std::int64_t> shape;  // global
  bool local = false;               // ranks hold unrelated tensors (no placement): nothing here but counts
  bool repeats_part = false;        // two shards hold the same numbers, which are not all alike
  bool covered = true;              // every element of the global tensor is held by some rank
  bool selected = false;            // held by ids: that some are missing is no fault (routed tokens)
  bool has_digest = false;
  std::array<std::uint64_t, 6> digest{};                   // codes, scales, zero points; two words each
  std::vector<std::array<std::uint64_t, 7>> rank_digests;  // of a local tensor: world rank and digest
  double global_scale = 1;                                 // second level of its scales
  bool has_sketch = false;
  double pending_factor = 1;
  std::vector<member> parts;           // one of each set of replicas
  std::vector<std::uint32_t> part_of;  // by member of the logical capture: index into parts
  bool partial = false;                // parts are addends
  double part_scale = 1;               // 1 / size for partial averages
  std::int32_t unequal_replica = -1;   // world rank of the first replica that differs from its twin
  std::int64_t count = 0, hidden = 0, nan = 0, positive_infinity = 0, negative_infinity = 0, zero = 0,
               subnormal = 0;   // over parts; of addends `count` is that of their sum
  std::int64_t at_maximum = 0;  // of formats of 16 bits and more: fill values, left out of sums
  std::int64_t largest = 0;     // codes of the largest number, of any format
  std::int64_t first_nonfinite = -1;
  double amax = 0, sum_sq = 0, sum_abs = 0, sum = 0;  // unscaled by sum_exponent

  [[nodiscard]] std::int64_t nonfinite() const { return nan + positive_infinity + negative_infinity; }
  // Elements that sums and sketch leave out.
  [[nodiscard]] std::int64_t excluded() const { return hidden + nonfinite() + at_maximum; }
};

merged_capture merge(const run_index& run, const logical_capture& capture, placement_cache& placements);

using sketch = std::array<double, detail::sketch_buckets>;

// The sum over parts; the capture has sketches.
sketch sketch_of(const run_index& run, const merged_capture& capture);

// Same dtype, global shape, coverage, codes, scales, zero points and pending factor; of local tensors the
// same on each rank.
bool equal(const merged_capture& a, const merged_capture& b) noexcept;

}  // namespace numdiff::analysis
