#include "store/intake.hpp"

#include <cstring>
#include <optional>
#include <utility>

namespace numdiff::storage {

using detail::field;

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

intake::intake(const lengths& start)
    : length_(start),
      strings_(static_cast<std::uint32_t>(start[table::strings]), string_limit_bytes),
      shapes_(static_cast<std::uint32_t>(start[table::shapes]), shape_limit_bytes) {
  if (start[table::strings] == 0) text(std::string_view());
  if (start[table::shapes] == 0) shape(detail::shape_row{});
}

void intake::take(const message_view& m) {
  switch (static_cast<detail::message_kind>(m.header.kind)) {
    case detail::message_kind::op: return take_op(m);
    case detail::message_kind::capture: return take_capture(m);
    case detail::message_kind::event: return take_event(m);
    case detail::message_kind::manifest: return take_manifest(m);
    case detail::message_kind::extra: return take_extra(m);
    case detail::message_kind::drop: return take_drop(m);
    case detail::message_kind::collective: return take_collective(m);
  }
  ++unknown_;
}

void intake::take_op(const message_view& m) try {
  auto row = m.row_as<detail::op_row>();
  row.name = row.kind = row.scope = row.tags = row.factors = row.algorithm = row.rng = 0;
  std::optional<detail::collective_row> fixed;
  detail::collective_row texts{};
  auto rest = m.fields;
  while (const auto f = next_field(rest)) {
    switch (f->tag) {
      case field::name: row.name = text(f->bytes); break;
      case field::kind: row.kind = text(f->bytes); break;
      case field::scope: row.scope = text(f->bytes); break;
      case field::tags: row.tags = text(f->bytes); break;
      case field::factors: row.factors = text(f->bytes); break;
      case field::algorithm: row.algorithm = text(f->bytes); break;
      case field::rng: row.rng = text(f->bytes); break;
      case field::collective:
        fixed = not_recorded<detail::collective_row>();
        message_view::copy_shorter(f->bytes, *fixed);
        break;
      default:
        if (!take_collective_text(*f, texts)) ++unknown_;
    }
  }
  append(table::ops, rows_.ops, row);
  if (fixed) {
    fixed->op = row.seq;
    append_collective(*fixed, texts);
  }
} catch (const out_of_room&) {
  ++drops_.ops;
}

void intake::take_collective(const message_view& m) try {
  detail::collective_row texts{};
  auto rest = m.fields;
  while (const auto f = next_field(rest))
    if (!take_collective_text(*f, texts)) ++unknown_;
  append_collective(m.row_as<detail::collective_row>(), texts);
} catch (const out_of_room&) {
  ++drops_.events;
}

bool intake::take_collective_text(const field_view& f, detail::collective_row& texts) {
  switch (f.tag) {
    case field::communicator: texts.communicator = text(f.bytes); return true;
    case field::ranks: texts.ranks = text(f.bytes); return true;
    case field::collective_algorithm: texts.algorithm = text(f.bytes); return true;
    case field::protocol: texts.protocol = text(f.bytes); return true;
    default: return false;
  }
}

void intake::append_collective(detail::collective_row row, const detail::collective_row& texts) {
  row.communicator = texts.communicator;
  row.ranks = texts.ranks;
  row.algorithm = texts.algorithm;
  row.protocol = texts.protocol;
  append(table::collectives, rows_.collectives, row);
}

void intake::take_event(const message_view& m) try {
  auto row = m.row_as<detail::event_row>();
  row.name = 0;
  auto rest = m.fields;
  while (const auto f = next_field(rest)) {
    if (f->tag == field::name) {
      row.name = text(f->bytes);
    } else {
      ++unknown_;
    }
  }
  append(table::events, rows_.events, row);
} catch (const out_of_room&) {
  ++drops_.events;
}

void intake::take_manifest(const message_view& m) {
  const auto row = m.row_as<detail::manifest_row>();
  std::string_view key, value;
  auto rest = m.fields;
  while (const auto f = next_field(rest)) {
    if (f->tag == field::key) {
      key = as_text(f->bytes);
    } else if (f->tag == field::value) {
      value = as_text(f->bytes);
    } else {
      ++unknown_;
    }
  }
  add_manifest(key, value, static_cast<manifest_class>(row.klass), row.time);
}

void intake::add_manifest(std::string_view key, std::string_view value, manifest_class klass,
                          std::int64_t time) try {
  detail::manifest_row row{};
  row.time = time;
  row.key = text(key);
  row.value = text(value);
  row.klass = static_cast<std::uint16_t>(klass);
  append(table::manifest, rows_.manifest, row);
} catch (const out_of_room&) {
  ++drops_.events;
}

void intake::take_extra(const message_view& m) try {
  auto row = m.row_as<detail::extra_row>();
  row.key = 0;
  std::span<const std::byte> bytes;
  auto rest = m.fields;
  while (const auto f = next_field(rest)) {
    if (f->tag == field::key) {
      row.key = text(f->bytes);
    } else if (f->tag == field::bytes) {
      bytes = f->bytes;
    } else {
      ++unknown_;
    }
  }
  row.offset = append_bytes(table::extra_heap, rows_.extra_heap, bytes);
  row.bytes = static_cast<std::int64_t>(bytes.size());
  append(table::extras, rows_.extras, row);
} catch (const out_of_room&) {
  ++drops_.events;
}

void intake::take_drop(const message_view& m) {
  const auto row = m.row_as<detail::drop_row>();
  drops_.captures += row.captures;
  drops_.ops += row.ops;
  drops_.events += row.events;
  drops_.values += row.values;
  drops_.sketches += row.sketches;
  drops_.histograms += row.histograms;
}

detail::text intake::text(std::span<const std::byte> bytes) {
  return text(as_text(bytes));
}

detail::text intake::text(std::string_view s) {
  const auto r = strings_.intern(s);
  if (!r) throw out_of_room{};
  if (r->fresh) {
    string_row row{};
    row.bytes = static_cast<std::uint32_t>(s.size());
    row.offset = append_bytes(table::string_heap, rows_.string_heap, std::as_bytes(std::span(s)));
    append(table::strings, rows_.strings, row);
  }
  return r->id;
}

std::uint32_t intake::shape(const detail::shape_row& row) {
  detail::shape_row clean{};
  std::memcpy(clean.extent, row.extent, sizeof(row.extent));
  std::memcpy(clean.stride, row.stride, sizeof(row.stride));
  clean.rank = row.rank;
  const auto r = shapes_.intern(as_text(std::as_bytes(std::span(&clean, 1))));
  if (!r) throw out_of_room{};
  if (r->fresh) append(table::shapes, rows_.shapes, clean);
  return r->id;
}

std::int64_t intake::append_bytes(table t, std::vector<std::byte>& heap, std::span<const std::byte> bytes) {
  heap.insert(heap.end(), bytes.begin(), bytes.end());
  std::int64_t& length = length_.rows[index_of(t)];
  return std::exchange(length, length + static_cast<std::int64_t>(bytes.size()));
}

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

}  // namespace numdiff::storage
