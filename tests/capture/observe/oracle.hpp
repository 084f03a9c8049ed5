#pragma once
// What an observation should be, element by element, with wide arithmetic and none of the pass's code.
#include <algorithm>
#include <array>
#include <boost/multiprecision/cpp_bin_float.hpp>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <vector>

#include "numdiff/classify.hpp"
#include "numdiff/decode.hpp"
#include "numdiff/detail/digest.hpp"
#include "numdiff/detail/runtime/observe_input.hpp"
#include "numdiff/detail/sketch.hpp"
#include "numdiff/encode.hpp"

namespace oracle {

using numdiff::dtype;
using numdiff::number_class;
namespace detail = numdiff::detail;
// 400 digits and a wide exponent: sums of fourth powers of doubles without loss that matters.
using wide = boost::multiprecision::number<
    boost::multiprecision::cpp_bin_float<1000, boost::multiprecision::digit_base_2, void, std::int32_t>>;

struct element {
  std::vector<std::int64_t> at;  // index in the view, without parts
  int part = 0;
  std::uint64_t code = 0;
  std::int64_t global = 0;  // -1 padding
  std::int64_t group = 0;
  bool visible = true;
  double value = 0;   // decoded, scaled
  double source = 0;  // of a cast
};

struct result {
  std::array<std::int64_t, 9> classes{};
  std::int64_t count = 0, hidden = 0, first_nonfinite = -1;
  double amax = 0, smallest = 0, minimum = std::nan(""), maximum = std::nan("");
  wide sum = 0, sum_abs = 0, sum_sq = 0, sum_4 = 0;
  detail::digest digest, scale_digest, zero_digest;
  std::array<double, detail::sketch_buckets> sketch{};
  std::map<int, std::uint64_t> octaves, relative;
  std::vector<std::byte> values;
  detail::cast_row cast{};
  wide cast_sq = 0, clip_sq = 0, rounding_sq = 0, underflow_sq = 0, signed_error = 0;
};

inline std::uint64_t load(const void* data, std::size_t size, std::int64_t i) {
  std::uint64_t code = 0;
  std::memcpy(&code, static_cast<const char*>(data) + i * static_cast<std::int64_t>(size),
              std::min(size, sizeof code));
  return code;
}

inline dtype part_type(dtype t) {
  return t == dtype::c64 ? dtype::f32 : t == dtype::c128 ? dtype::f64 : t;
}

inline std::uint64_t code_of(const detail::strided_codes& t, const std::vector<std::int64_t>& at, int part) {
  std::int64_t offset = 0;
  for (std::size_t d = 0; d < at.size(); ++d) offset += at[d] * t.stride[d];
  if (t.packed) {
    const std::int64_t byte = offset >= 0 ? offset / 2 : -((1 - offset) / 2);
    const std::uint64_t pair = load(t.data, 1, byte);
    return offset - 2 * byte == 0 ? pair & 15 : pair >> 4;
  }
  const dtype p = part_type(t.type);
  const std::size_t size = numdiff::bytes_of(p);
  const std::uint64_t code = load(t.data, size, p == t.type ? offset : 2 * offset + part);
  switch (p) {
    case dtype::boolean: return code != 0;
    case dtype::i4:
    case dtype::u4:
    case dtype::f4e2m1fn: return code & 0xf;
    case dtype::f6e2m3fn:
    case dtype::f6e3m2fn: return code & 0x3f;
    case dtype::ue4m3: return code & 0x7f;
    case dtype::e5m6: return code & 0xfff;
    case dtype::tf32: return code & 0xffffe000U;
    default: return code;
  }
}

inline std::int64_t block_along(const detail::scale_groups& s, int d, int rank) {
  using numdiff::granularity;
  const int axis = s.axis < 0 ? rank - 1 : s.axis;
  if (s.granularity == granularity::row) return d == 0 ? 1 : 0;
  if (s.granularity == granularity::column) return d == rank - 1 ? 1 : 0;
  if (s.granularity == granularity::block) return d == rank - 1 ? s.block[1] : d == rank - 2 ? s.block[0] : 1;
  if (s.granularity == granularity::mx) return d == axis ? 32 : 1;
  if (s.granularity == granularity::nvfp4) return d == axis ? 16 : 1;
  return 0;
}

inline std::vector<element> elements(const detail::observe_input& in) {
  const detail::strided_codes& t = in.tensor;
  const int rank = static_cast<int>(t.rank);
  const bool complex = numdiff::is_complex(t.type);
  const std::int64_t parts = complex ? 2 : 1;
  std::int64_t count = 1;
  for (int d = 0; d < rank; ++d) count *= t.extent[d];
  std::vector<element> all;
  for (std::int64_t i = 0; i < count; ++i) {
    element e;
    e.at.resize(t.rank);
    std::int64_t rest = i;
    for (int d = rank; d-- > 0;) {
      e.at[static_cast<std::size_t>(d)] = rest % t.extent[d];
      rest /= t.extent[d];
    }
    std::int64_t global = 0;
    if (in.map.is == detail::global_map::kind::local) {
      global = i;
    } else if (in.map.is == detail::global_map::kind::flat) {
      global = -1;
      for (std::size_t s = 0; s < in.map.segment_count; ++s) {
        const detail::flat_segment& f = in.map.segments[s];
        if (i >= f.local_begin && i < f.local_begin + f.length) global = f.global_begin + i - f.local_begin;
      }
    } else {
      for (int d = 0; d < rank; ++d) {
        const std::int64_t extent = in.map.global_extent[d] ? in.map.global_extent[d] : t.extent[d];
        const std::int64_t index = e.at[static_cast<std::size_t>(d)];
        const bool by_id = d == in.map.ids_dimension;
        if (by_id && in.map.ids[index] < 0) {
          global = -1;
          break;
        }
        global = global * extent + (by_id ? in.map.ids[index] : in.map.begin[d] + index);
      }
    }
    if (in.scaling.scales) {
      for (int d = 0; d < rank; ++d) {
        std::int64_t block = block_along(in.scaling, d, rank);
        if (block <= 0 || block > t.extent[d]) block = t.extent[d];
        e.group = e.group * ((t.extent[d] + block - 1) / block) + e.at[static_cast<std::size_t>(d)] / block;
      }
    }
    for (int part = 0; part < parts; ++part) {
      e.part = part;
      e.code = code_of(t, e.at, part);
      e.global = global < 0 ? -1 : global * parts + part;
      const dtype p = part_type(t.type);
      e.visible = e.global >= 0;
      if (in.hidden.visible && !in.hidden.visible[i]) e.visible = false;
      if (in.hidden.lengths && e.at[1] >= in.hidden.lengths[e.at[0]]) e.visible = false;
      if (in.hidden.has_fill && e.code == numdiff::encode(p, in.hidden.fill)) e.visible = false;
      e.value = numdiff::decode(p, e.code);
      if (in.scaling.scales) {
        const detail::scale_groups& s = in.scaling;
        const double raw = numdiff::decode(s.type, load(s.scales, numdiff::bytes_of(s.type), e.group));
        const double scale = (s.direction == numdiff::scale_direction::encode ? 1 / raw : raw) * s.global;
        const double zero =
            s.zero_points
                ? numdiff::decode(s.zero_point_type,
                                  load(s.zero_points, numdiff::bytes_of(s.zero_point_type), e.group))
                : 0;
        e.value = (e.value - zero) * scale;
      }
      if (in.cast_source) {
        e.source = numdiff::decode(in.cast_source->type, code_of(*in.cast_source, e.at, part));
      }
      all.push_back(e);
    }
  }
  return all;
}

inline result reference(const detail::observe_input& in) {
  const dtype p = part_type(in.tensor.type);
  const numdiff::format f = numdiff::format_of(p);
  const std::size_t size = numdiff::bytes_of(p);
  const bool drops_maximum = f.is_float() && f.bits >= 16;
  const std::vector<element> all = elements(in);
  result r;
  r.count = static_cast<std::int64_t>(all.size());
  std::map<std::int64_t, double> group_amax;
  std::vector<double> lanes(512, 0.0);
  for (const element& e : all) {
    const std::uint64_t stored = e.visible ? e.code : 0;
    r.values.insert(r.values.end(), reinterpret_cast<const std::byte*>(&stored),
                    reinterpret_cast<const std::byte*>(&stored) + size);
    if (!e.visible) {
      ++r.hidden;
      continue;
    }
    const auto g = static_cast<std::uint64_t>(e.global);
    const number_class k = numdiff::classify(p, e.code);
    ++r.classes[static_cast<std::size_t>(k)];
    r.digest = r.digest + detail::digest_of(g, e.code);
    if (k >= number_class::plus_infinity || !std::isfinite(e.value)) {
      if (r.first_nonfinite < 0 || e.global < r.first_nonfinite) r.first_nonfinite = e.global;
      continue;
    }
    const double magnitude = std::fabs(e.value);
    r.amax = std::fmax(r.amax, magnitude);
    r.minimum = std::fmin(r.minimum, e.value);
    r.maximum = std::fmax(r.maximum, e.value);
    if (magnitude > 0 && (r.smallest == 0 || magnitude < r.smallest)) r.smallest = magnitude;
    if (magnitude > 0 && !in.scaling.scales) ++r.octaves[numdiff::octave(p, e.code)];
    if (magnitude > 0 && in.scaling.scales) ++r.octaves[std::ilogb(magnitude)];
    if (in.scaling.scales) group_amax[e.group] = std::fmax(group_amax[e.group], magnitude);
    if (drops_maximum && (k == number_class::plus_maximum || k == number_class::minus_maximum)) continue;
    wide x = e.value;
    if (p == dtype::i64 && !in.scaling.scales) x = static_cast<std::int64_t>(e.code);
    if (p == dtype::u64 && !in.scaling.scales) x = e.code;
    r.sum += x;
    r.sum_abs += abs(x);
    r.sum_sq += x * x;
    r.sum_4 += x * x * x * x;
    lanes[detail::sketch_lane(g)] += detail::sketch_is_negative(g) ? -e.value : e.value;
  }
  for (std::size_t i = 0; i < 256; ++i) r.sketch[i] = lanes[i] + lanes[i + 256];
  if (in.scaling.scales) {
    for (const element& e : all) {
      if (!e.visible || !std::isfinite(e.value) || e.value == 0) continue;
      // 64 bits of significand: no quotient of doubles rounds up to a power of two.
      const long double ratio = static_cast<long double>(std::fabs(e.value)) / group_amax[e.group];
      ++r.relative[std::max(std::ilogb(ratio), -1074)];
    }
  }
  return r;
}

}  // namespace oracle
