#pragma once
// One fused pass over a tensor: classes, extremes, sums, octaves, digest, sketch, casts, scales, values.
// Part of the runtime's implementation: included by exactly one file of a program.
#include "numdiff/detail/runtime/fp_environment.hpp"
#include "numdiff/detail/runtime/observe_pass.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

inline void delete_workspace(observe_workspace* w) {
  delete w;
}

__attribute__((noinline)) inline bool observe_in_environment(const observe_input& in,
                                                             observation& out) noexcept {
  try {
    if (!out.workspace) out.workspace = {new observe_workspace(), delete_workspace};
    bool done = false;
    visit_dtype(in.tensor.type, [&](auto type) {
      observe_pass<type.value>(in, out).run();
      done = true;
    });
    return done;
  } catch (...) {
    return false;
  }
}

// Fills `out` from the tensor, whatever the caller's floating-point environment, which stays as it is.
// Two captures with equal codes, shape and placement give equal bits, whatever the strides. False, with
// `out` unspecified, when memory is short or the dtype unknown. Packed tensors must be of a 4-bit dtype; the
// source of a cast must have the tensor's shape and be real.
inline bool observe(const observe_input& in, observation& out) noexcept {
  capture_row& row = out.row;
  const std::int64_t parts = is_complex(in.tensor.type) ? 2 : 1;
  std::int64_t count = parts;
  for (std::uint32_t d = 0; d < in.tensor.rank; ++d) count *= in.tensor.extent[d];
  out.has_sketch = in.level >= level::sketch;
  out.has_values = in.level >= level::tensors || (in.level >= level::sketch && count <= sketch_buckets);
  out.has_scales = out.has_cast = false;
  out.values.clear();
  out.scale_values.clear();
  out.zero_points.clear();
  out.block_histogram.clear();
  row.hidden = 0;
  row.first_nonfinite = -1;
  row.scale_count = row.zero_point_count = 0;
  row.scale_digest0 = row.scale_digest1 = row.zero_point_digest0 = row.zero_point_digest1 = 0;
  const fp_environment environment;
  return observe_in_environment(in, out);
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
