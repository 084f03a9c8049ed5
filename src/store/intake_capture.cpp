#include "store/intake.hpp"

#include <cstring>

namespace numdiff::store {

using detail::field;

namespace {

// Two independent 64-bit hashes; equal 128 bits are taken as equal content.
void hash_bytes(std::span<const std::byte> bytes, std::uint64_t out[2]) {
  std::uint64_t a = 0x243f6a8885a308d3U, b = 0x13198a2e03707344U;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data(), 8);
    a = (a ^ word) * 0x9e3779b97f4a7c15U;
    a ^= a >> 29;
    b = (b + word) * 0xd6e8feb86659fd93U;
    b ^= b >> 32;
  }
  out[0] = a;
  out[1] = b;
}

enum content : std::uint32_t { content_values, content_scales, content_zero_points, content_sketch };

}  // namespace

std::int64_t intake::histogram(std::span<const std::byte> bytes) {
  return append_bytes(table::histograms, rows_.histograms, bytes);
}

std::int64_t intake::sketch_row(std::span<const std::byte> bytes) {
  content_index::key key{{0, 0}, 0, 0, 0, content_sketch};
  hash_bytes(bytes, key.digest);
  if (const auto known = content_.find(key)) return *known;
  sketch s;
  std::memcpy(s.data(), bytes.data(), sizeof(s));
  const std::int64_t at = length_[table::sketches];
  append(table::sketches, rows_.sketches, s);
  content_.add(key, at);
  return at;
}

std::int64_t intake::payload(dtype type, std::span<const std::byte> codes, const content_index::key* key) {
  if (key != nullptr && key->digest[0] == 0 && key->digest[1] == 0) key = nullptr;  // no digest told
  if (key != nullptr)
    if (const auto known = content_.find(*key)) return *known;
  const std::size_t d = static_cast<std::size_t>(type);
  rows_.payload[d].insert(rows_.payload[d].end(), codes.begin(), codes.end());
  const std::int64_t at = length_.payload[d];
  length_.payload[d] += static_cast<std::int64_t>(codes.size() / bytes_of(type));
  if (key != nullptr) content_.add(*key, at);
  return at;
}

struct intake::capture_fields {
  std::span<const std::byte> values, scale_values, zero_points, index;
  bool has_values = false, has_scales = false, has_zero_points = false, has_index = false;
};

void intake::take_capture(const message_view& m) try {
  auto row = m.row_as<detail::capture_row>();
  row.name = row.placement = row.scaling = row.axes = row.shape = 0;
  row.sketch = row.histogram = row.payload = row.scale_payload = row.zero_point_payload = row.index_payload =
      -1;
  row.scale_count = row.zero_point_count = row.index_count = 0;
  row.histogram_bytes = 0;
  capture_fields f;
  std::span<const std::byte> cast, scales, block_histogram;
  auto rest = m.fields;
  while (const auto part = next_field(rest)) {
    const auto bytes = part->bytes;
    switch (part->tag) {
      case field::name: row.name = text(bytes); break;
      case field::placement: row.placement = text(bytes); break;
      case field::scaling: row.scaling = text(bytes); break;
      case field::axes: row.axes = text(bytes); break;
      case field::shape: {
        detail::shape_row told{};
        message_view::copy_shorter(bytes, told);
        row.shape = shape(told);
        break;
      }
      case field::sketch:
        if (bytes.size() == sizeof(sketch)) {
          row.sketch = sketch_row(bytes);
        } else {
          ++unknown_;
        }
        break;
      case field::histogram:
        row.histogram = histogram(bytes);
        row.histogram_bytes = static_cast<std::uint32_t>(bytes.size());
        break;
      case field::cast: cast = bytes; break;
      case field::scales: scales = bytes; break;
      case field::block_histogram: block_histogram = bytes; break;
      case field::values: f.values = bytes, f.has_values = true; break;
      case field::scale_values: f.scale_values = bytes, f.has_scales = true; break;
      case field::zero_points: f.zero_points = bytes, f.has_zero_points = true; break;
      case field::index: f.index = bytes, f.has_index = true; break;
      default: ++unknown_;
    }
  }
  place_values(row, f);
  append(table::captures, rows_.captures, row);
  if (!cast.empty()) {
    auto fixed = not_recorded<detail::cast_row>();
    message_view::copy_shorter(cast, fixed);
    fixed.capture = row.seq;
    append(table::casts, rows_.casts, fixed);
  }
  if (!scales.empty()) {
    auto fixed = not_recorded<detail::scales_row>();
    message_view::copy_shorter(scales, fixed);
    fixed.capture = row.seq;
    fixed.histogram = block_histogram.empty() ? -1 : histogram(block_histogram);
    fixed.histogram_bytes = static_cast<std::uint32_t>(block_histogram.size());
    append(table::scales, rows_.scales, fixed);
  }
} catch (const out_of_room&) {
  ++drops_.captures;
}

// Codes whose size contradicts the row are not stored: the row says that values were dropped.
void intake::place_values(detail::capture_row& row, const capture_fields& f) {
  const auto key = [&](content what, std::uint16_t type, std::uint64_t d0, std::uint64_t d1,
                       std::int64_t count) {
    return content_index::key{{d0, d1},
                              count,
                              row.placement,
                              what == content_values ? 0 : row.scaling,
                              what | std::uint32_t{type} << 4};
  };
  const auto elements = [](std::uint16_t type, std::span<const std::byte> codes) -> std::int64_t {
    const std::size_t width = numdiff::bytes_of(static_cast<dtype>(type));
    return width == 0 || codes.size() % width != 0 ? -1 : static_cast<std::int64_t>(codes.size() / width);
  };
  // The digest leaves hidden elements out, and an id list orders elements freely: then equal digests
  // do not mean equal bytes.
  const bool addressable = row.hidden == 0 && !f.has_index;

  if (f.has_values) {
    const std::int64_t n = elements(row.dtype, f.values);
    const std::int64_t parts = is_complex(static_cast<dtype>(row.dtype)) ? 2 : 1;
    if (n >= 0 && row.count % parts == 0 && n == row.count / parts) {
      const auto k = key(content_values, row.dtype, row.digest0, row.digest1, row.count);
      row.payload = payload(static_cast<dtype>(row.dtype), f.values, addressable ? &k : nullptr);
      ++stored_;
    } else {
      row.dropped = static_cast<std::uint16_t>(row.dropped | dropped_values);
      ++drops_.values;
    }
  }
  if (f.has_scales) {
    if (const std::int64_t n = elements(row.scale_dtype, f.scale_values); n >= 0) {
      const auto k = key(content_scales, row.scale_dtype, row.scale_digest0, row.scale_digest1, n);
      row.scale_payload = payload(static_cast<dtype>(row.scale_dtype), f.scale_values, &k);
      row.scale_count = n;
    }
  }
  if (f.has_zero_points) {
    if (const std::int64_t n = elements(row.zero_point_dtype, f.zero_points); n >= 0) {
      const auto k =
          key(content_zero_points, row.zero_point_dtype, row.zero_point_digest0, row.zero_point_digest1, n);
      row.zero_point_payload = payload(static_cast<dtype>(row.zero_point_dtype), f.zero_points, &k);
      row.zero_point_count = n;
    }
  }
  if (f.has_index && f.index.size() % 8 == 0) {
    row.index_payload = payload(dtype::i64, f.index, nullptr);
    row.index_count = static_cast<std::int64_t>(f.index.size() / 8);
  }
}

}  // namespace numdiff::store
