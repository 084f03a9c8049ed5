#pragma once
// Memory of the pass: what a chunk needs between its stages.
#include <cstdint>
#include <vector>

#include "numdiff/detail/runtime/observe_elements.hpp"
#include "numdiff/detail/runtime/observe_keyed.hpp"
#include "numdiff/detail/runtime/observe_statistics.hpp"
#include "numdiff/detail/runtime/observe_walk.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

struct observe_workspace {
  double values[observe_chunk];
  double shifted[observe_chunk];
  double source[observe_chunk];
  std::int64_t group[observe_chunk];
  std::uint64_t words[observe_chunk];
  unsigned char keep[observe_chunk];
  unsigned char visible[observe_chunk];
  global_run runs[observe_chunk];
  global_run shown[observe_chunk];
  std::uint64_t codes[4][256];
  octave_counts octaves;
  octave_counts relative;
  sketch_lanes sketch;
  std::vector<double> group_amax;
};

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
