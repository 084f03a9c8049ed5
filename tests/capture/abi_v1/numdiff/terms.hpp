#pragma once
// The vocabulary of records. Stored in run files: never renumber, readers ignore what they do not know.
#include <cstdint>

namespace numdiff {
inline namespace v1 {

// How much a capture keeps.
enum class level : std::uint16_t { off = 0, stats = 1, sketch = 2, tensors = 3 };

// What a tensor is to its op. input, weight, scale and scalar are read; accumulate, output and
// gradient are written; state is read and written (capture it twice, as "m" and "m.new").
enum class role : std::uint16_t {
  none = 0,  // NUMDIFF_TENSOR outside an op
  input = 1,
  weight = 2,
  scale = 3,
  accumulate = 4,
  output = 5,
  gradient = 6,
  state = 7,
  scalar = 8,
};

enum class phase : std::uint16_t {
  none = 0,
  forward = 1,
  backward = 2,
  recompute = 3,
  optimizer = 4,
  communication = 5,
  evaluation = 6,
};

// Block recipes quantise rows and columns apart: two different tensors.
enum class usage : std::uint16_t { none = 0, rowwise = 1, columnwise = 2 };

enum class memory_space : std::uint16_t { host = 0, cuda = 1 };

enum class rounding : std::uint16_t {
  unknown = 0,
  nearest_even = 1,
  toward_zero = 2,
  stochastic = 3,
  up = 4,  // toward +infinity: E8M0 scales
};

enum class reduction_order : std::uint16_t {
  unknown = 0,
  sequential = 1,
  blocked = 2,
  tree = 3,
  ring = 4,
};

enum class clock_source : std::uint16_t { monotonic = 0, device = 1 };

enum class collective_operation : std::uint16_t {
  unknown = 0,
  all_reduce = 1,
  reduce_scatter = 2,
  all_gather = 3,
  broadcast = 4,
  reduce = 5,
  all_to_all = 6,
  send = 7,
  receive = 8,
};

enum class reduction : std::uint16_t { none = 0, sum = 1, average = 2, max = 3, min = 4 };

enum class event_kind : std::uint16_t {
  marker = 0,
  skipped_step = 1,
  op_ended = 2,
  allocation = 3,
  free = 4,
  wait = 5,
  graph_replay = 6,
};

enum class manifest_class : std::uint16_t { numeric = 0, performance = 1, identity = 2, record = 3 };

// Bits of capture_row.dropped.
enum dropped : std::uint16_t {
  dropped_values = 1,
  dropped_sketch = 2,
  dropped_histogram = 4,
};

// Placement of one mesh axis.
enum class spread : std::uint16_t {
  unknown = 0,
  sharded = 1,
  replicated = 2,
  partial_sum = 3,
  partial_average = 4,
  partial_max = 5,
  partial_min = 6,
};

enum class granularity : std::uint16_t {
  none = 0,
  tensor = 1,
  row = 2,     // one scale per index of `axis` 0
  column = 3,  // one scale per index of the last dimension
  block = 4,   // blocks of m x n over the last two dimensions
  mx = 5,      // 1x32 along `axis`
  nvfp4 = 6,   // 1x16 along `axis` with a second-level tensor scale
};

// encode: code = round(value * scale). decode: value = code * scale.
enum class scale_direction : std::uint16_t { decode = 0, encode = 1 };

// Order of scale codes in memory. swizzled: tiles of 128 x 4 as block-scaled tensor cores read them.
enum class scale_layout : std::uint16_t { linear = 0, swizzled = 1 };

}  // namespace v1
}  // namespace numdiff
