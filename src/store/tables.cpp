#include "store/tables.hpp"

#include <limits>

namespace numdiff::store {

namespace {

template <class T>
constexpr scalar scalar_of();
template <>
constexpr scalar scalar_of<std::uint16_t>() {
  return scalar::u16;
}
template <>
constexpr scalar scalar_of<std::uint32_t>() {
  return scalar::u32;
}
template <>
constexpr scalar scalar_of<std::uint64_t>() {
  return scalar::u64;
}
template <>
constexpr scalar scalar_of<std::int32_t>() {
  return scalar::i32;
}
template <>
constexpr scalar scalar_of<std::int64_t>() {
  return scalar::i64;
}
template <>
constexpr scalar scalar_of<double>() {
  return scalar::f64;
}

}  // namespace

#define NUMDIFF_DETAIL_DESCRIBE(type, name) {#name, scalar_of<type>(), offsetof(row_type, name), 1},

#define NUMDIFF_DETAIL_MEMBERS(row, FIELDS)                                    \
  template <>                                                                  \
  const std::vector<member>& members_of<row>() {                               \
    using row_type = row;                                                      \
    using detail::text;                                                        \
    static const std::vector<member> list = {FIELDS(NUMDIFF_DETAIL_DESCRIBE)}; \
    return list;                                                               \
  }
NUMDIFF_DETAIL_MEMBERS(detail::op_row, NUMDIFF_DETAIL_OP_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::capture_row, NUMDIFF_DETAIL_CAPTURE_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::cast_row, NUMDIFF_DETAIL_CAST_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::scales_row, NUMDIFF_DETAIL_SCALES_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::collective_row, NUMDIFF_DETAIL_COLLECTIVE_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::event_row, NUMDIFF_DETAIL_EVENT_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::manifest_row, NUMDIFF_DETAIL_MANIFEST_FIELDS)
NUMDIFF_DETAIL_MEMBERS(detail::extra_row, NUMDIFF_DETAIL_EXTRA_FIELDS)
NUMDIFF_DETAIL_MEMBERS(string_row, NUMDIFF_DETAIL_STRING_FIELDS)

template <>
const std::vector<member>& members_of<detail::shape_row>() {
  static const std::vector<member> list = {
      {"extent", scalar::i64, offsetof(detail::shape_row, extent), 8},
      {"stride", scalar::i64, offsetof(detail::shape_row, stride), 8},
      {"rank", scalar::u32, offsetof(detail::shape_row, rank), 1},
  };
  return list;
}

template <>
const std::vector<member>& members_of<commit_row>() {
  static const std::vector<member> list = [] {
    using row_type = commit_row;
    std::vector<member> all = {NUMDIFF_DETAIL_COMMIT_FIELDS(NUMDIFF_DETAIL_DESCRIBE)};
    const std::size_t base = offsetof(commit_row, length);
    for (std::size_t t = 0; t < table_count; ++t)
      all.push_back({table_names[t], scalar::i64, base + offsetof(lengths, rows) + t * 8, 1});
    for (std::uint16_t d = 1; d < dtype_count; ++d)
      all.push_back({std::string("payload_") + name_of(static_cast<dtype>(d)), scalar::i64,
                     base + offsetof(lengths, payload) + std::size_t{d} * 8, 1});
    return all;
  }();
  return list;
}

template <>
detail::op_row not_recorded<detail::op_row>() {
  detail::op_row row{};
  row.step = row.update = row.m = row.n = row.k = row.batch = row.reduction_length = -1;
  row.flops = row.bytes = -1;
  row.workspace = -1;
  row.micro_batch = row.device = -1;
  return row;
}

template <>
detail::capture_row not_recorded<detail::capture_row>() {
  detail::capture_row row{};
  row.minimum = row.maximum = std::numeric_limits<double>::quiet_NaN();
  row.first_nonfinite = -1;
  row.pending_factor = 1;
  row.sketch = row.histogram = row.payload = row.scale_payload = row.zero_point_payload = row.index_payload =
      -1;
  return row;
}

template <>
detail::scales_row not_recorded<detail::scales_row>() {
  detail::scales_row row{};
  row.histogram = -1;
  return row;
}

template <>
detail::collective_row not_recorded<detail::collective_row>() {
  detail::collective_row row{};
  row.peer = -1;
  return row;
}

template <>
detail::event_row not_recorded<detail::event_row>() {
  detail::event_row row{};
  row.step = -1;
  return row;
}

#define NUMDIFF_DETAIL_ZERO(row) \
  template <>                    \
  row not_recorded<row>() {      \
    return row{};                \
  }
NUMDIFF_DETAIL_ZERO(detail::cast_row)
NUMDIFF_DETAIL_ZERO(detail::manifest_row)
NUMDIFF_DETAIL_ZERO(detail::extra_row)
NUMDIFF_DETAIL_ZERO(detail::shape_row)
NUMDIFF_DETAIL_ZERO(detail::drop_row)
NUMDIFF_DETAIL_ZERO(string_row)
NUMDIFF_DETAIL_ZERO(commit_row)

std::string payload_name(dtype type) {
  return std::string("/payload/") + name_of(type);
}

std::string table_name(table t) {
  return std::string("/") + table_names[index_of(t)];
}

}  // namespace numdiff::store
