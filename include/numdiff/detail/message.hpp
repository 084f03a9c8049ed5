#pragma once
// The messages that travel from probes to the writer and that stand in the `.tail` file.
//
// A message is a header, one fixed row (rows.hpp, string fields 0), and tagged fields:
//   message_header | row bytes, padded to 8 | { field_header | bytes, padded to 8 } ...
// All little-endian. `id` counts from 1 per session without gaps in reservation order; the newest
// id of a commit (file_format.md) tells a reader of the tail where to go on.
#include <cstdint>

#include "numdiff/detail/rows.hpp"

namespace numdiff {
inline namespace v1 {
namespace detail {

enum class message_kind : std::uint16_t {
  op = 1,
  capture = 2,
  event = 3,
  manifest = 4,
  extra = 5,
  drop = 6,  // row is drop_row: something was dropped, counted
  // Row is collective_row with `op` set, texts as fields: told after the message of its op had left.
  collective = 7,
};

// Tags of fields. Never renumber; a reader skips tags it does not know.
enum class field : std::uint16_t {
  // text for the row's member of the same name
  name = 1,
  kind = 2,
  scope = 3,
  tags = 4,
  factors = 5,
  algorithm = 6,
  rng = 7,
  placement = 8,
  scaling = 9,
  axes = 10,
  key = 11,
  value = 12,
  communicator = 13,
  ranks = 14,
  collective_algorithm = 15,
  protocol = 16,
  // other rows that belong to the message
  collective = 32,  // collective_row (of an op)
  cast = 33,        // cast_row (of a capture)
  scales = 34,      // scales_row (of a capture)
  shape = 35,       // shape_row (of a capture)
  // arrays (of a capture)
  sketch = 48,           // 256 doubles
  histogram = 49,        // encoded histogram, file_format.md
  block_histogram = 50,  // the same, of |x| / block amax
  values = 51,           // raw codes in row-major order of the view
  scale_values = 52,     // raw scale codes
  zero_points = 53,      // raw zero-point codes
  index = 54,            // i64 global ids along the dimension of an ids placement
  // bytes of an extra
  bytes = 64,
};

struct message_header {
  std::uint32_t size;   // whole message in bytes, a multiple of 8
  std::uint16_t kind;   // message_kind
  std::uint16_t ready;  // 0 reserved, 1 complete (stored last, with release order)
  std::uint64_t id;
  std::uint32_t row_bytes;  // of the row as written, without padding: older rows are shorter
  std::uint32_t check;      // CRC-32C of everything after the header
};
static_assert(sizeof(message_header) == 24);

struct field_header {
  std::uint16_t tag;
  std::uint16_t reserved;
  std::uint32_t bytes;  // without padding
};
static_assert(sizeof(field_header) == 8);

// What the queue could not take, since the last drop message. Rows are counted in `captures`
// and `ops`; parts of kept rows also carry capture_row.dropped.
#define NUMDIFF_DETAIL_DROP_FIELDS(X) \
  X(std::uint64_t, captures)          \
  X(std::uint64_t, ops)               \
  X(std::uint64_t, events)            \
  X(std::uint64_t, values)            \
  X(std::uint64_t, sketches)          \
  X(std::uint64_t, histograms)
NUMDIFF_DETAIL_ROW(drop_row, NUMDIFF_DETAIL_DROP_FIELDS);

constexpr std::uint32_t padded(std::uint32_t bytes) noexcept {
  return (bytes + 7U) & ~7U;
}

}  // namespace detail
}  // namespace v1
}  // namespace numdiff
