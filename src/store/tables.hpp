#pragma once
// The tables of a rank file and their rows: what the HDF5 types, the message decoder and the page
// docs/file_format.md are made from. Knows no HDF5.
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "numdiff/detail/message.hpp"
#include "numdiff/detail/rows.hpp"
#include "numdiff/dtype.hpp"

namespace numdiff::store {

// Only what a newer minor version adds is ignored by an older reader; a newer major is refused.
inline constexpr std::uint32_t format_major = 1;
inline constexpr std::uint32_t format_minor = 0;

// One string: bytes [offset, offset + bytes) of /string_heap.
#define NUMDIFF_DETAIL_STRING_FIELDS(X) \
  X(std::int64_t, offset)               \
  X(std::uint32_t, bytes)

// One commit. Behind these come the lengths of all tables, one member per table.
#define NUMDIFF_DETAIL_COMMIT_FIELDS(X)                                     \
  X(std::uint64_t, last_id) /* newest message id that the rows contain */   \
  X(std::int64_t, time)     /* ns since 1970, UTC */                        \
  X(std::uint64_t, unknown) /* messages of kinds the writer did not know */ \
  X(std::uint64_t, dropped_captures)                                        \
  X(std::uint64_t, dropped_ops)                                             \
  X(std::uint64_t, dropped_events)                                          \
  X(std::uint64_t, dropped_values)                                          \
  X(std::uint64_t, dropped_sketches)                                        \
  X(std::uint64_t, dropped_histograms)

enum class table : std::uint8_t {
  ops,
  captures,
  casts,
  scales,
  collectives,
  events,
  manifest,
  extras,
  sketches,
  histograms,
  strings,
  string_heap,
  shapes,
  extra_heap,
};
inline constexpr std::size_t table_count = 14;
inline constexpr std::array<const char*, table_count> table_names = {
    "ops",    "captures", "casts",      "scales",  "collectives", "events", "manifest",
    "extras", "sketches", "histograms", "strings", "string_heap", "shapes", "extra_heap"};

constexpr std::size_t index_of(table t) noexcept {
  return static_cast<std::size_t>(t);
}

// Rows (or bytes of a heap, or elements of a payload) of every table.
struct lengths {
  std::array<std::int64_t, table_count> rows{};
  std::array<std::int64_t, dtype_count> payload{};  // by dtype

  [[nodiscard]] std::int64_t operator[](table t) const noexcept { return rows[index_of(t)]; }
};

NUMDIFF_DETAIL_ROW(string_row, NUMDIFF_DETAIL_STRING_FIELDS);
struct commit_row {
  NUMDIFF_DETAIL_COMMIT_FIELDS(NUMDIFF_DETAIL_MEMBER)
  lengths length;
};

enum class scalar : std::uint8_t { u16, u32, u64, i32, i64, f64 };

constexpr std::size_t bytes_of(scalar s) noexcept {
  return s == scalar::u16 ? 2 : s == scalar::u32 || s == scalar::i32 ? 4 : 8;
}

// One member of a row: at `offset`, `extent` scalars (more than 1: an array).
struct member {
  std::string name;
  scalar type;
  std::size_t offset;
  std::size_t extent;
};

// Members of a row in order; Row is one of the rows of rows.hpp or of this header.
template <class Row>
const std::vector<member>& members_of();

// A row in which every field says "not recorded".
template <class Row>
Row not_recorded();

#define NUMDIFF_DETAIL_STORED_ROWS(X) \
  X(detail::op_row)                   \
  X(detail::capture_row)              \
  X(detail::cast_row)                 \
  X(detail::scales_row)               \
  X(detail::collective_row)           \
  X(detail::event_row)                \
  X(detail::manifest_row)             \
  X(detail::extra_row)                \
  X(detail::shape_row)                \
  X(string_row)                       \
  X(commit_row)
#define NUMDIFF_DETAIL_DECLARE(row)             \
  template <>                                   \
  const std::vector<member>& members_of<row>(); \
  template <>                                   \
  row not_recorded<row>();
NUMDIFF_DETAIL_STORED_ROWS(NUMDIFF_DETAIL_DECLARE)
template <>
detail::drop_row not_recorded<detail::drop_row>();
#undef NUMDIFF_DETAIL_DECLARE

using sketch = std::array<double, detail::sketch_buckets>;

// "/payload/bf16"; "/ops".
std::string payload_name(dtype type);
std::string table_name(table t);

}  // namespace numdiff::store
