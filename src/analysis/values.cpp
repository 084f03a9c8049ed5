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
  size_ = is_complex(type_) ? 2 : 1;
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
  if (p.row->payload < 0 || p.rank->payload == nullptr || p.row->shape >= p.rank->shapes.size()) return false;
  p.shape = &p.rank->shapes[p.row->shape];
  if (elements_of(*p.shape) * (is_complex(type_) ? 2 : 1) != p.count) return false;
  const placement& where = placements.of(p.rank->strings[p.row->placement]);
  if (!alone || where.ids >= 0 || !where.flat.empty()) {
    if (is_complex(type_) || !where.told) return false;
    p.where = &where;
    if (p.row->index_payload >= 0 && p.row->index_count > 0) {
      p.ids.resize(static_cast<std::size_t>(p.row->index_count));
      p.rank->payload->read(dtype::i64, p.row->index_payload, std::as_writable_bytes(std::span(p.ids)));
    }
    if (!fits(where, *p.shape, p.ids)) return false;
  } else if (p.count != size_) {
    return false;
  }
  if (!p.rank->strings[p.row->scaling].empty()) {
    scaled_ = true;
    if (!load_scales(p, *p.shape)) return false;
  }
  parts_.push_back(std::move(p));
  return true;
}

bool value_reader::load_scales(part& p, const model::shape_row& shape) {
  const model::capture_row& row = *p.row;
  if (row.scale_payload < 0) return false;
  try {
    p.map = expect::scale_map_of(p.rank->strings[row.scaling],
                                 {shape.extent, shape.extent + std::min<std::uint32_t>(shape.rank, 8)});
    if (row.scale_count != static_cast<std::int64_t>(p.map.groups)) return false;
    p.scales = numbers(*p.rank, static_cast<dtype>(row.scale_dtype), row.scale_payload, row.scale_count);
    for (double& s : p.scales) s = (p.map.encodes ? 1 / s : s) * p.map.global;
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

std::int64_t value_reader::global_index(const part& p, std::int64_t local) noexcept {
  std::int64_t index = 0, weight = 1;
  for (std::size_t d = p.shape->rank; d-- > 0;) {
    const std::int64_t at = local % p.shape->extent[d];
    local /= p.shape->extent[d];
    const std::int64_t coordinate = static_cast<int>(d) == p.where->ids ? p.ids[static_cast<std::size_t>(at)]
                                    : d < p.where->box.size()           ? p.where->box[d][0] + at
                                                                        : at;
    index += coordinate * weight;
    weight *= p.where->global[d];
  }
  return index;
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
    const std::size_t g = p.map.at(static_cast<std::size_t>(first) + i);
    out[i] = (out[i] - p.zero[p.zero.size() == 1 ? 0 : g]) * p.scales[g];
    if (!scales.empty()) scales[i] = p.scales[g];
  }
}

// Local elements [begin, end) go where `index` says, if that is in the window.
template <class T, class Index>
void value_reader::place(const part& p, std::int64_t begin, std::int64_t end, std::int64_t first,
                         std::span<T> out, std::span<double> scales, Index index) {
  constexpr std::int64_t chunk = 1 << 16;
  std::vector<T> values;
  std::vector<double> steps;
  for (std::int64_t at = begin; at < end; at += chunk) {
    values.resize(static_cast<std::size_t>(std::min(chunk, end - at)));
    steps.resize(scales.empty() ? 0 : values.size());
    read_local<T>(p, at, values, steps);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const std::int64_t to = index(at + static_cast<std::int64_t>(i)) - first;
      if (to < 0 || to >= static_cast<std::int64_t>(out.size())) continue;
      out[static_cast<std::size_t>(to)] += values[i];
      if (!scales.empty())
        scales[static_cast<std::size_t>(to)] = std::max(scales[static_cast<std::size_t>(to)], steps[i]);
    }
  }
}

template <class T>
void value_reader::read(std::int64_t first, std::span<T> out, std::span<double> scales) {
  if (parts_.size() == 1 && parts_.front().where == nullptr) {
    read_local(parts_.front(), first, out, scales);
  } else {
    std::ranges::fill(out, T{0});
    std::ranges::fill(scales, 0.0);
    const std::int64_t last = first + static_cast<std::int64_t>(out.size());
    for (const part& p : parts_) {
      if (!p.where->flat.empty()) {
        for (const auto& [global, local, length] : p.where->flat) {
          const std::int64_t from = std::max(global, first), to = std::min(global + length, last);
          if (from >= to) continue;
          place(p, local + from - global, local + to - global, first, out, scales,
                [&, shift = global - local](std::int64_t i) { return i + shift; });
        }
        continue;
      }
      const auto index = [&](std::int64_t i) { return global_index(p, i); };
      std::int64_t begin = 0, end = p.count;
      if (p.where->ids < 0) {
        // In a box the order of elements is that of the whole.
        const auto behind = [&](std::int64_t bound) {
          std::int64_t low = 0, high = p.count;
          while (low < high) {
            const std::int64_t middle = low + (high - low) / 2;
            if (index(middle) < bound)
              low = middle + 1;
            else
              high = middle;
          }
          return low;
        };
        begin = behind(first);
        end = behind(last);
      }
      place(p, begin, end, first, out, scales, index);
    }
  }
  if (factor_ != 1) {
    for (T& v : out) v *= factor_;
    for (double& s : scales) s *= std::abs(factor_);
  }
}

template void value_reader::read(std::int64_t, std::span<double>, std::span<double>);
template void value_reader::read(std::int64_t, std::span<long double>, std::span<double>);

}  // namespace numdiff::analysis
