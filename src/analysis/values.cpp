#include "analysis/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <type_traits>

#include "numdiff/convert.hpp"

namespace numdiff::analysis {

namespace {

std::vector<double> numbers(const model::rank_data& rank, dtype type, std::int64_t first,
                            std::int64_t count) {
  std::vector<std::byte> codes(static_cast<std::size_t>(count) * bytes_of(type));
  if (!codes.empty()) rank.payload->read(type, first, codes);
  std::vector<double> values(static_cast<std::size_t>(count));
  if (!decode(type, codes.data(), values.data(), values.size())) throw std::runtime_error("unknown dtype");
  return values;
}

template <class Integer>
void widen(const std::byte* codes, std::span<long double> out) {
  for (std::size_t i = 0; i < out.size(); ++i) {
    Integer value;
    std::memcpy(&value, codes + i * sizeof value, sizeof value);
    out[i] = static_cast<long double>(value);
  }
}

}  // namespace

value_reader::value_reader(const run_index& run, const merged_capture& capture, placement_cache& placements)
    : type_(capture.type), factor_(capture.part_scale / capture.pending_factor) {
  if (capture.local || !capture.covered || capture.parts.empty() || bytes_of(type_) == 0) return;
  size_ = per_element_ = is_complex(type_) ? 2 : 1;
  for (const std::int64_t extent : capture.shape) size_ *= extent;
  const bool alone = capture.parts.size() == 1 && !capture.partial;
  readable_ =
      std::ranges::all_of(capture.parts, [&](const member& m) { return add(run, m, alone, placements); });
}

bool value_reader::add(const run_index& run, const member& m, bool alone, placement_cache& placements) {
  part p;
  p.rank = &run.rank_of(m);
  p.row = &run.capture_row_of(m);
  p.count = p.row->count;
  if (p.count == 0 && size_ > 0) {  // an empty shard
    p.map.emplace();
    parts_.push_back(std::move(p));
    return true;
  }
  if (p.row->payload < 0 || p.rank->payload == nullptr || p.row->shape >= p.rank->shapes.size()) return false;
  const model::shape_row& shape = p.rank->shapes[p.row->shape];
  if (elements_of(shape) * per_element_ != p.count) return false;
  const placement& where = placements.of(p.rank->strings[p.row->placement]);
  const bool in_order = where.ids < 0 && where.flat.empty() && where.ranges.empty();
  if (!alone || !in_order) {
    if (!where.told) return false;
    p.map = map_of(run, m, where);
    if (!p.map) return false;
  } else if (p.count != size_) {
    return false;
  }
  if (!p.rank->strings[p.row->scaling].empty()) {
    scaled_ = true;
    if (!load_scales(p, shape)) return false;
  }
  parts_.push_back(std::move(p));
  return true;
}

bool value_reader::load_scales(part& p, const model::shape_row& shape) {
  const model::capture_row& row = *p.row;
  if (row.scale_payload < 0) return false;
  try {
    p.scale_of = expect::scale_map_of(p.rank->strings[row.scaling],
                                      {shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8)});
    if (row.scale_count != static_cast<std::int64_t>(p.scale_of.groups)) return false;
    p.scales = numbers(*p.rank, static_cast<dtype>(row.scale_dtype), row.scale_payload, row.scale_count);
    for (double& s : p.scales) s = (p.scale_of.encodes ? 1 / s : s) * p.scale_of.global;
    p.zero.assign(1, 0.0);
    if (row.zero_point_payload >= 0) {
      p.zero = numbers(*p.rank, static_cast<dtype>(row.zero_point_dtype), row.zero_point_payload,
                       row.zero_point_count);
    }
  } catch (const std::runtime_error&) {
    return false;
  }
  return p.zero.size() == 1 || p.zero.size() == p.scales.size();
}

template <class T>
void value_reader::read_local(const part& p, std::int64_t first, std::span<T> out, std::span<double> scales) {
  const bool complex = is_complex(type_);
  codes_.resize(out.size() * bytes_of(type_) / (complex ? 2 : 1));
  if (codes_.empty()) return;
  p.rank->payload->read(type_, p.row->payload + (complex ? first / 2 : first), codes_);
  if constexpr (std::is_same_v<T, long double>) {
    if (type_ == dtype::i64) {
      widen<std::int64_t>(codes_.data(), out);
    } else if (type_ == dtype::u64) {
      widen<std::uint64_t>(codes_.data(), out);
    } else {
      std::vector<double> values(out.size());
      decode(type_, codes_.data(), values.data(), values.size());
      std::ranges::copy(values, out.begin());
    }
  } else {
    decode(type_, codes_.data(), out.data(), out.size());
  }
  if (p.scales.empty()) {
    std::ranges::fill(scales, 1.0);
    return;
  }
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t g = p.scale_of.at(static_cast<std::size_t>(first) + i);
    out[i] = (out[i] - p.zero[p.zero.size() == 1 ? 0 : g]) * p.scales[g];
    if (!scales.empty()) scales[i] = p.scales[g];
  }
}

// Adds what a part holds of the window, with one read for what lies together in the view.
template <class T>
void value_reader::add_part(const part& p, std::int64_t first, std::span<T> out, std::span<double> scales) {
  constexpr std::int64_t chunk = 1 << 16;
  const std::int64_t last = first + static_cast<std::int64_t>(out.size());
  std::vector<stretch> together;
  std::int64_t length = 0;
  std::vector<T> values;
  std::vector<double> steps;
  const auto flush = [&] {
    if (length == 0) return;
    values.resize(static_cast<std::size_t>(length));
    steps.resize(scales.empty() ? 0 : values.size());
    read_local<T>(p, together.front().local, values, steps);
    std::size_t from = 0;
    for (const stretch& s : together) {
      const auto to = static_cast<std::size_t>(s.global - first);
      for (std::size_t i = 0; i < static_cast<std::size_t>(s.length); ++i) {
        out[to + i] += values[from + i];
        if (!scales.empty()) scales[to + i] = std::max(scales[to + i], steps[from + i]);
      }
      from += static_cast<std::size_t>(s.length);
    }
    together.clear();
    length = 0;
  };
  p.map->visit(first / per_element_, last / per_element_, [&](stretch s) {
    s = {s.global * per_element_, s.local * per_element_, s.length * per_element_};
    const bool apart = !together.empty() && s.local != together.back().local + together.back().length;
    if (apart || length + s.length > chunk) flush();
    together.push_back(s);
    length += s.length;
  });
  flush();
}

template <class T>
void value_reader::read(std::int64_t first, std::span<T> out, std::span<double> scales) {
  if (parts_.size() == 1 && !parts_.front().map) {
    read_local(parts_.front(), first, out, scales);
  } else {
    std::ranges::fill(out, T{0});
    std::ranges::fill(scales, 0.0);
    for (const part& p : parts_) add_part(p, first, out, scales);
  }
  if (factor_ != 1) {
    for (T& v : out) v *= factor_;
    for (double& s : scales) s *= std::abs(factor_);
  }
}

template void value_reader::read(std::int64_t, std::span<double>, std::span<double>);
template void value_reader::read(std::int64_t, std::span<long double>, std::span<double>);

}  // namespace numdiff::analysis
