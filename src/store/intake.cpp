#include "store/intake.hpp"

#include <cstring>
#include <optional>
#include <utility>

namespace numdiff::store {

using detail::field;

namespace {

std::string_view as_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

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

}  // namespace numdiff::store
